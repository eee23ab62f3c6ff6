"""Readers of a log that is the only copy notice every cut by its leader epochs: who comes back begins another."""

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from epoch.filesystem import REAL, FileSystem
from logstore.directory.log_directory import LogDirectory
from logstore.errors import LogTruncatedError
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.live.read_only_log import ReadOnlyLog
from logstore.offline.log_file import LogFile
from logstore.topic_partition import TopicPartition
from tests.campaign import Campaign
from tests.crash_states import crash_states, write_state
from tests.recording_disk import RecordingDisk

HISTORIES = Campaign("readers of a log that is cut", full=5_000, share=60)
STATES = Campaign("crash states of a new epoch", full=2_000, share=60)
CONFIG = LogConfig(segment_bytes=400, retention_ms=-1, file_delete_delay_ms=0)

Seen = dict[int, tuple[int, bytes]]
"""What a reader has taken over: by offset, the leader epoch and the value."""


def take_over(log: Log | ReadOnlyLog, seen: Seen) -> None:
    """Take back what the log has lost, by offset and epoch, and read on: as docs/embedding.md says."""
    while seen and len(log.epochs):
        offset = max(seen)
        epoch, _ = seen[offset]
        end = log.end_offset_for_epoch(epoch)
        if end is not None and end.epoch == epoch and offset < end.end_offset:
            break
        for each in list(seen):
            if seen[each][0] == epoch if end is None or end.epoch < epoch else each >= end.end_offset:
                del seen[each]
    offset = max(seen) + 1 if seen else log.log_start_offset
    while view := log.read(offset, max_bytes=1 << 20):
        for batch in view.batches():
            for record in batch.records():
                assert record.value is not None
                seen[record.offset] = batch.leader_epoch, bytes(record.value)
        offset = view.next_offset


def assert_has_all(seen: Seen, log: Log) -> None:
    """A reader has what the log has, and what the log has deleted at its start since."""
    there: Seen = {}
    take_over(log, there)
    assert {offset: each for offset, each in seen.items() if offset >= log.log_start_offset} == there


def follow_by_name(log: Log, seen: Seen) -> None:
    """Read on by a cursor, and take back what it says the log has lost."""
    cursor = log.cursor("reader")
    try:
        cursor.records()
    except LogTruncatedError as error:
        diverging = error.offset or 0
        for offset in [offset for offset in seen if offset >= diverging]:
            del seen[offset]
        cursor.seek(diverging)
    for record in cursor:
        epoch = log.epochs.epoch_for_offset(record.offset)
        assert epoch is not None
        assert record.value is not None
        seen[record.offset] = epoch, bytes(record.value)
    cursor.commit()


class Writer:
    """Writes a log at random, loses its ends, and comes back."""

    def __init__(self, directory: Path, random: Random, disk: FileSystem = REAL, first_value: int = 0) -> None:
        self.log = Log.open(directory, CONFIG, filesystem=disk)
        self._random = random
        self._disk = disk
        self._written = first_value

    def step(self) -> None:
        log, random = self.log, self._random
        match random.choice(["append", "append", "append", "flush", "cut", "begin anew", "close", "die", "lose"]):
            case "append":
                self.append(random.randrange(1, 5))
            case "flush":
                log.flush()
            case "cut":
                log.truncate_to(random.randint(log.log_start_offset, log.log_end_offset))
            case "begin anew" if random.random() < 0.2:
                log.truncate_fully_and_start_at(log.log_start_offset)
            case "close":
                log.close()
                self._open_again()
            case "die":
                log.abandon()
                self._open_again()
            case "lose" if self._disk is REAL:
                log.abandon()
                lose_end(log.segments[-1].path, log.recovery_point, random)
                self._open_again()

    def append(self, count: int) -> None:
        for _ in range(count):
            self._written += 1
            self.log.append([b"%d" % self._written] * self._random.randrange(1, 4))

    def _open_again(self) -> None:
        self.log = Log.open(self.log.directory, CONFIG, filesystem=self._disk)


def starts_and_sizes(path: Path) -> list[tuple[int, int, int]]:
    """The batches of a segment: base offset, last offset, bytes."""
    with LogFile.open(path) as file:
        return [(batch.base_offset, batch.last_offset, batch.size) for batch in file.batches()]


def lose_end(path: Path, recovery_point: int, random: Random) -> None:
    """Let a power loss take some of what a segment holds from the recovery point on."""
    flushed = sum(size for _, last_offset, size in starts_and_sizes(path) if last_offset < recovery_point)
    os.truncate(path, random.randint(flushed, path.stat().st_size))


def test_every_reader_has_what_the_log_has_whatever_was_cut(tmp_path: Path) -> None:
    for number in range(HISTORIES.count):
        random = Random(HISTORIES.seed * HISTORIES.full + number)
        writer = Writer(tmp_path / f"t-{number}", random)
        beside = ReadOnlyLog.open(writer.log.directory)
        readers: list[tuple[Callable[[Log, Seen], None], Seen]] = [
            (take_over, {}),
            (lambda _, seen, beside=beside: take_over(beside, seen), {}),
            (follow_by_name, {}),
        ]
        for _ in range(40):
            writer.step()
            # A log that has lost all has no epochs: to read it says that the offset is out of its range.
            for read, seen in readers if writer.log.epochs else ():
                if random.random() < 0.3:
                    read(writer.log, seen)
                    assert_has_all(seen, writer.log)
        writer.log.abandon()
    HISTORIES.report(HISTORIES.count)


def test_a_cut_in_the_middle_of_a_batch_is_noticed_once_the_log_goes_on(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        log.append([b"one"])
        log.append([b"two", b"three", b"four"])
        seen: Seen = {}
        take_over(log, seen)
        log.truncate_to(3)  # the whole batch goes, and the log goes on behind a gap
        log.append([b"another"])
        assert log.epochs.entries == [(0, 0), (1, 1)]
        take_over(log, seen)
        assert_has_all(seen, log)
        assert sorted(seen) == [0, 3]


def test_a_cut_in_the_middle_of_a_batch_is_noticed_before_the_log_goes_on(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        log.append([b"one"])
        log.append([b"two", b"three", b"four"])
        seen: Seen = {}
        take_over(log, seen)
        follow_by_name(log, {})
        log.truncate_to(3)
        assert log.end_offset_for_epoch(0) == (0, 1)
        take_over(log, seen)
        assert sorted(seen) == [0]
        with pytest.raises(LogTruncatedError) as caught:
            log.cursor("reader").records()
        assert caught.value.offset == 1


@pytest.mark.parametrize("end", [Log.close, Log.abandon])
@pytest.mark.parametrize("cuts", [[5], [5, 4], [8, 6, 5], [7, 4, 1]])
def test_a_log_that_was_cut_in_the_middle_of_batches_opens_again(
    tmp_path: Path, cuts: list[int], end: Callable[[Log], None]
) -> None:
    log = Log.open(tmp_path / "t-0", CONFIG)
    for _ in range(3):
        log.append([b"a", b"b", b"c"])
    log.flush()
    for cut in cuts:
        log.truncate_to(cut)
        assert log.log_end_offset == cut
        log.flush()
    end(log)
    with Log.open(log.directory, CONFIG) as again:
        assert again.log_end_offset == cuts[-1] // 3 * 3
        assert not again.report.dropped


def test_a_cut_behind_a_gap_of_an_earlier_one_takes_back_what_was_promised_of_both(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        log.append([b"a", b"b", b"c"])
        log.append([b"d", b"e", b"f"])
        log.truncate_to(5)
        log.append([b"g"])
        log.append([b"h"])
        log.truncate_to(6)
        log.truncate_to(5)
    with Log.open(log.directory, CONFIG) as again:
        assert again.log_end_offset == 3


def test_what_was_read_before_a_cut_is_still_sound_behind_it(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        log.append([b"one"])
        view = log.read(0, 1 << 20)
        log.truncate_to(0)
        log.append([b"another"])
        assert [record.value for record in view.records()] == [b"one"]


def test_no_reader_goes_on_behind_what_a_power_loss_took(tmp_path: Path) -> None:
    disk = RecordingDisk()
    (tmp_path / "live").mkdir()
    writer, seen = Writer(tmp_path / "live" / "t-0", Random(STATES.seed), disk), Seen()
    for _ in range(60):
        writer.step()
        if writer.log.epochs:
            take_over(writer.log, seen)
            disk.tell(dict(seen))
    writer.log.abandon()
    states = list(crash_states(disk.steps, tmp_path / "live"))
    stride = max(1, len(states) // STATES.count)
    tried = 0
    for number, (told, state) in enumerate(states):
        if (number + STATES.seed) % stride or Path("t-0") not in state or not isinstance(told, dict):
            continue
        root = tmp_path / f"state-{number}"
        root.mkdir()
        write_state(state, root)
        crashed = Writer(root / "t-0", Random(number), first_value=1_000)
        if number % 2:  # a stop in order, before the new epoch has a batch
            crashed.log.close()
            crashed = Writer(root / "t-0", Random(number), first_value=1_000)
        crashed.append(20)
        known = dict(told)
        take_over(crashed.log, known)
        assert_has_all(known, crashed.log)
        crashed.log.abandon()
        tried += 1
    STATES.report(tried, f"of {len(states):,}")


def test_nothing_is_promised_behind_a_cut_in_the_middle_of_a_batch_by_a_later_cut(tmp_path: Path) -> None:
    """The next batch is not on stable storage, and a loss of power may take a part of it."""
    log = Log.open(tmp_path / "t-0", CONFIG)
    log.append([b"one"])
    [(_, _, flushed)] = starts_and_sizes(log.segments[0].path)
    log.append([b"two", b"three"])
    log.flush()
    log.truncate_to(2)
    log.append([b"another"])
    log.append([b"and one more"])
    log.truncate_to(3)
    log.abandon()
    os.truncate(log.segments[0].path, flushed + 20)
    with Log.open(log.directory, CONFIG) as again:
        assert [record.value for record in again.records()] == [b"one"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 12)), min_size=2, max_size=5), last=st.integers(0, 2))
@example(steps=[(5, 2), (2, 3), (5, 6)], last=0)
def test_a_log_is_opened_again_whatever_batches_it_was_cut_in(
    memory_dir: Path, steps: list[tuple[int, int]], last: int
) -> None:
    """Its process died: each batch was of so many records, all but those up to an offset were cut, one was flushed."""
    with TemporaryDirectory(dir=memory_dir) as place:
        log = Log.open(Path(place) / "t-0", CONFIG)
        for number, (count, end) in enumerate(steps):
            log.append([b"one"] * count)
            if number == last:
                log.flush()
            log.truncate_to(end)
        kept = [record.offset for record in log.records()]
        log.abandon()
        with Log.open(log.directory, CONFIG) as again:
            assert [record.offset for record in again.records()] == kept


@pytest.mark.parametrize("stop", [LogDirectory.close, LogDirectory.abandon])
@pytest.mark.parametrize("end", range(1, 11))
def test_a_log_in_a_root_is_opened_again_whatever_batch_it_was_cut_in(
    tmp_path: Path, end: int, stop: Callable[[LogDirectory], None]
) -> None:
    partition = TopicPartition("t", 0)
    root = LogDirectory.open(tmp_path, CONFIG)
    log = root.create(partition)
    for _ in range(2):
        log.append([b"one"] * 5)
        log.flush()
    log.truncate_to(end)
    root.checkpoint()
    kept = [record.offset for record in log.records()]
    stop(root)
    with LogDirectory.open(tmp_path, CONFIG) as again:
        assert [record.offset for record in again.log(partition).records()] == kept


def test_no_earlier_epoch_begins_where_a_log_is_truncated_to_its_end_of_which_all_was_deleted(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        log.append([b"one"] * 3, leader_epoch=3)
        log.flush()
        log.delete_records(3)
        log.truncate_to(3)
        log.append([b"another"])
        assert log.epochs.latest_epoch == 3
        log.flush()
    with Log.open(log.directory, CONFIG, check_all=True) as again:
        assert [record.value for record in again.records()] == [b"another"]
