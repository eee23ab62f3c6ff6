"""A log that is the only copy: what was promised is never given up in silence, whatever is damaged or missing."""

import shutil
import struct
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest

from epoch.checkpoint import LEADER_EPOCH_CHECKPOINT, LeaderEpochCheckpoint
from epoch.entry import EpochEntry
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.layout import LENGTH_AT
from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.errors import (
    CorruptBatchError,
    DamagedLogError,
    FencedLeaderEpochError,
    HoleError,
    LogStoreError,
    UnknownPartitionError,
)
from logstore.files.followed_mark import FOLLOWED_MARK
from logstore.files.offset_checkpoint import LOG_START_OFFSET_CHECKPOINT, RECOVERY_POINT_CHECKPOINT
from logstore.files.only_copy.offset_gaps import Hole
from logstore.files.only_copy.promised_offsets import PROMISED_OFFSETS_NAME, PromisedOffsets
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.recovery.damage_policy import Damage
from logstore.topic_partition import TopicPartition

CONFIG = LogConfig(segment_bytes=1_000, index_interval_bytes=100, retention_ms=-1)
RECORDS = 65
"""Flushed; some more are not."""


def value(offset: int) -> bytes:
    return b"record %06d" % offset


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A log of several segments, whose process died."""
    path = tmp_path / "t-0"
    log = Log.open(path, CONFIG)
    for offset in range(RECORDS):
        log.append([value(offset)])
        if offset % 7 == 0:
            log.flush()
    assert log.flush() == RECORDS
    log.append([value(RECORDS)])
    log.abandon()
    return path


def segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.log"))


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def in_the_last_segment(directory: Path) -> None:
    flip(segments(directory)[-1], 40)


def in_the_length_of_its_batch(directory: Path) -> None:
    flip(segments(directory)[-1], 11)


def in_its_magic(directory: Path) -> None:
    flip(segments(directory)[-1], 16)


def first_segment_missing(directory: Path) -> None:
    segments(directory)[0].unlink()


def middle_segment_missing(directory: Path) -> None:
    segments(directory)[1].unlink()


def last_segment_missing(directory: Path) -> None:
    segments(directory)[-1].unlink()


def all_segments_missing(directory: Path) -> None:
    for path in segments(directory):
        path.unlink()


def middle_segment_short(directory: Path) -> None:
    path = segments(directory)[1]
    path.write_bytes(path.read_bytes()[:300])


def last_segment_short(directory: Path) -> None:
    segments(directory)[-1].write_bytes(b"")


def middle_segment_zeroed(directory: Path) -> None:
    path = segments(directory)[1]
    path.write_bytes(bytes(path.stat().st_size))


FAULTS: list[Callable[[Path], None]] = [
    in_the_last_segment,
    in_the_length_of_its_batch,
    in_its_magic,
    first_segment_missing,
    middle_segment_missing,
    last_segment_missing,
    all_segments_missing,
    middle_segment_short,
    last_segment_short,
    middle_segment_zeroed,
]


@pytest.mark.parametrize("fault", FAULTS)
class TestDamageBelowTheRecoveryPoint:
    def test_refuses_the_log_again_and_again_and_changes_nothing(
        self, directory: Path, fault: Callable[[Path], None]
    ) -> None:
        fault(directory)
        before = files(directory)
        for _ in range(2):
            with pytest.raises(DamagedLogError, match=r'damage="hole".* damage="cut"') as refused:
                Log.open(directory, CONFIG)
            assert files(directory) == before
        error = refused.value
        assert Path(error.file or "").parent == directory
        assert 0 <= (error.offset or 0) < (error.end_offset or 0) <= RECORDS

    def test_becomes_a_hole_that_readers_are_told_of(self, directory: Path, fault: Callable[[Path], None]) -> None:
        fault(directory)
        with Log.open(directory, CONFIG, damage="hole") as log:
            holes = log.holes
            assert holes
            assert list(holes) == log.report.holes
            assert log.log_start_offset == 0
            assert read(log) == {offset for offset in range(log.log_end_offset) if not any(within(holes, offset))}
            end = log.append([b"behind"]).last_offset + 1
        with Log.open(directory, CONFIG) as log:
            assert log.holes == holes
            assert log.log_end_offset == end >= RECORDS + 1
            log.roll()
            log.append([b"more"])
            log.flush()
            log.abandon()
        with Log.open(directory, CONFIG) as log:
            assert log.holes == holes

    def test_is_cut_where_that_is_asked_for_and_set_aside(self, directory: Path, fault: Callable[[Path], None]) -> None:
        before = {path.read_bytes() for path in segments(directory)}
        fault(directory)
        left = b"".join(path.read_bytes() for path in segments(directory))
        with Log.open(directory, CONFIG, damage="cut") as log:
            assert log.holes == ()
            assert log.report.dropped
            end = log.log_end_offset
            start = log.log_start_offset
            assert [record.value for record in log.records()] == [value(offset) for offset in range(start, end)]
            kept = b"".join(path.read_bytes() for path in segments(directory))
            aside = b"".join((directory / tail.set_aside).read_bytes() for tail in log.report.dropped if tail.set_aside)
            assert kept + aside == left
            assert before
        with Log.open(directory, CONFIG) as log:
            assert (log.log_end_offset, log.report.dropped) == (end, [])


def test_what_is_missing_between_segments_is_said(directory: Path) -> None:
    missing, following = (int(path.stem) for path in segments(directory)[1:3])
    middle_segment_missing(directory)
    said = f"the batches end at offset {missing - 1}, and the next segment begins at {following}: a segment is missing"
    with pytest.raises(DamagedLogError, match=f"{said}, or this one its end"):
        Log.open(directory, CONFIG)


@pytest.mark.parametrize("damage", ["hole", "cut"])
def test_a_log_of_deleted_records_only_is_not_opened_without_its_last_segment(directory: Path, damage: Damage) -> None:
    with Log.open(directory, CONFIG) as log:
        end = log.flush()
        log.delete_records(end)
        log.delete_old_segments()
    all_segments_missing(directory)
    for _ in range(2):
        with pytest.raises(DamagedLogError, match=f"has no segment any more, which began at offset {end} or before"):
            Log.open(directory, CONFIG)
    with Log.open(directory, CONFIG, damage=damage) as log:
        assert (log.log_start_offset, log.append([b"more"]).first_offset) == (end, end)


def test_a_batch_that_kept_all_but_its_offset_is_in_the_hole_too(tmp_path: Path) -> None:
    """No checksum covers the offset, and zeros are one."""
    with Log.open(tmp_path / "t-0") as log:
        for offset in range(5):
            log.append([value(offset)])
    [path] = segments(log.directory)
    with LogFile.open(path) as file:
        end = [batch.position for batch in file.batches()][2] + LENGTH_AT
    path.write_bytes(bytes(end) + path.read_bytes()[end:])
    with Log.open(log.directory, damage="hole") as log:
        assert log.holes == (Hole(0, 3),)
        assert read(log) == {3, 4}


def within(holes: object, offset: int) -> list[bool]:
    return [hole.start_offset <= offset < hole.end_offset for hole in holes]  # type: ignore[attr-defined]


def read(log: Log) -> set[int]:
    """Read around holes as told, and see that skipping them gives the same."""
    found, offset = set[int](), log.log_start_offset
    while True:
        try:
            for record in log.records(offset):
                assert record.value == value(record.offset)
                found.add(record.offset)
        except HoleError as hole:
            offset = hole.next_offset
        else:
            break
    assert [record.offset for record in log.records(skip_holes=True)] == sorted(found)
    return found


def test_a_hole_that_was_truncated_away_is_not_back_once_there_are_records_again(directory: Path) -> None:
    middle_segment_missing(directory)
    with Log.open(directory, CONFIG, damage="hole") as log:
        [hole] = log.holes
        log.truncate_to(hole.start_offset - 1)
        while log.log_end_offset < hole.end_offset + 1:
            log.append([value(log.log_end_offset)])
        log.flush()
        log.abandon()
    with Log.open(directory, CONFIG) as log:
        assert log.holes == ()
        assert read(log) == set(range(hole.end_offset + 1))


def test_a_log_of_which_only_deleted_records_are_left_begins_anew_at_its_start(tmp_path: Path) -> None:
    """A truncation within a batch has left it without the last offsets, and its start is among these."""
    log = Log.open(tmp_path / "t-0", CONFIG)
    log.append([value(0)])
    log.append([value(offset) for offset in range(1, 5)])
    log.flush()
    log.truncate_to(4)
    log.update_high_watermark(4)
    log.delete_records(3)
    log.abandon()
    for _ in range(2):
        with Log.open(log.directory, CONFIG) as again:
            assert (again.log_start_offset, again.log_end_offset) == (3, 3)
            assert not list(again.records())


def test_a_hole_below_the_start_is_known_as_long_as_there_are_segments_around_it(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        for offset in range(RECORDS):
            log.append([value(offset)])
    middle_segment_missing(log.directory)
    with Log.open(log.directory, CONFIG, damage="hole") as log:
        [hole] = log.holes
        log.delete_records(hole.end_offset + 1)
        assert log.holes == ()
    for _ in range(2):
        with Log.open(log.directory, CONFIG) as log:
            assert log.holes == ()


class TestDamageAboveTheRecoveryPoint:
    def test_is_cut_and_what_parses_is_set_aside(self, tmp_path: Path) -> None:
        directory = tmp_path / "t-0"
        log = Log.open(directory)
        log.append([b"flushed"])
        log.flush()
        ends = [log.append([b"not flushed %d" % number]) and log.size for number in range(3)]
        log.abandon()
        flip(segments(directory)[0], ends[0] + 40)
        lost = segments(directory)[0].read_bytes()[ends[0] :]
        with Log.open(directory) as log:
            assert log.log_end_offset == 2
            [tail] = log.report.dropped
            assert (directory / tail.set_aside).read_bytes() == lost

    def test_an_offset_that_no_append_gives_is_damage_and_no_reason_to_split(self, tmp_path: Path) -> None:
        log = Log.open(tmp_path / "t-0")
        log.append([b"one"])
        position = log.size
        log.append([b"two"])
        log.abandon()
        path = segments(log.directory)[0]
        data = bytearray(path.read_bytes())
        data[position + 4] ^= 0x80
        path.write_bytes(data)
        with Log.open(log.directory) as log:
            assert (log.log_end_offset, len(log.report.dropped), log.holes) == (1, 1, ())

    def test_a_torn_end_is_cut_as_ever(self, directory: Path) -> None:
        last = segments(directory)[-1]
        last.write_bytes(last.read_bytes()[:-3])
        with Log.open(directory, CONFIG) as log:
            assert log.log_end_offset == RECORDS
            [tail] = log.report.dropped
            assert tail.set_aside == ""


@pytest.mark.parametrize("content", [None, b"", bytes(1_024)], ids=["missing", "emptied", "zeroed"])
@pytest.mark.parametrize("damage", ["raise", "hole"])
def test_where_nobody_knows_what_was_promised_all_that_something_follows_was(
    directory: Path, content: bytes | None, damage: Damage
) -> None:
    for name in (PROMISED_OFFSETS_NAME, "recovery-point-offset-checkpoint"):
        (directory / name).unlink()
        if content is not None:
            (directory / name).write_bytes(content)
    in_the_last_segment(directory)
    if damage == "raise":
        with pytest.raises(DamagedLogError, match="not known"):
            Log.open(directory, CONFIG)
    else:
        with Log.open(directory, CONFIG, damage=damage) as log:
            [hole] = log.holes
            assert hole.end_offset - hole.start_offset == 1
            assert log.log_end_offset == RECORDS + 1


def test_a_replica_ends_at_the_damage_as_kafkas_does(directory: Path) -> None:
    in_the_last_segment(directory)
    base_offset = int(segments(directory)[-1].stem)
    with Log.open(directory, CONFIG, replicated=True) as log:
        assert log.log_end_offset == base_offset
        assert [tail.set_aside for tail in log.report.dropped] == [""]


class TestAStartWithinABatch:
    """Records are deleted up to an offset in the middle of a batch, and the process dies."""

    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        log = Log.open(tmp_path / "t-0")
        self.delete_first_half(log)
        log.abandon()
        return log.directory

    @staticmethod
    def delete_first_half(log: Log) -> None:
        log.append([value(0), value(1)])
        log.update_high_watermark(2)
        log.delete_records(1)
        assert log.recovery_point == 2

    def test_it_is_no_damage(self, directory: Path) -> None:
        with Log.open(directory) as log:
            assert [record.value for record in log.records()] == [value(1)]

    def test_it_is_none_where_no_more_is_known_to_be_flushed_than_was_deleted(self, directory: Path) -> None:
        PromisedOffsets(directory).take_back(1, 1)
        with Log.open(directory) as log:
            assert [record.value for record in log.records()] == [value(1)]

    @pytest.mark.parametrize("is_checkpointed", [False, True])
    def test_it_is_none_in_a_root(self, tmp_path: Path, is_checkpointed: bool) -> None:
        root = LogDirectory.open(tmp_path)
        self.delete_first_half(root.create(TopicPartition("t", 0)))
        if is_checkpointed:
            root.checkpoint()
        root.abandon()
        with LogDirectory.open(tmp_path) as again:
            log = again.log(TopicPartition("t", 0))
            assert (log.log_start_offset, log.log_end_offset) == (1, 2)


class TestInARoot:
    """What becomes of damage is said of each partition."""

    SOUND, DAMAGED, OTHER = (TopicPartition("t", number) for number in range(3))

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        """Two of three logs have a damaged batch in the middle."""
        root = tmp_path / "root"
        with LogDirectory.open(root) as logs:
            for partition in (self.SOUND, self.DAMAGED, self.OTHER):
                log = logs.create(partition)
                for offset in range(9):
                    log.append([value(offset)])
        for partition in (self.DAMAGED, self.OTHER):
            path = root / str(partition) / "00000000000000000000.log"
            flip(path, path.stat().st_size // 2)
            (path.parent / "00000000000000000000.index").unlink()  # so that it is looked at
        return root

    def test_an_unreadable_log_is_opened_beside_the_others(self, root: Path) -> None:
        for _ in range(2):  # that holds for once
            with LogDirectory.open(root) as logs:
                assert logs.unreadable.keys() == {self.DAMAGED, self.OTHER}
                with pytest.raises(DamagedLogError):
                    logs.open_unreadable(self.DAMAGED)
                with pytest.raises(UnknownPartitionError, match="not unreadable"):
                    logs.open_unreadable(self.SOUND, damage="cut")
        with LogDirectory.open(root) as logs:
            log = logs.open_unreadable(self.DAMAGED, damage="hole")
            assert log is logs.log(self.DAMAGED)
            [hole] = log.holes
            assert read(log) == set(range(9)) - {hole.start_offset}
            log.append([b"more"])
            assert logs.unreadable.keys() == {self.OTHER}
        with LogDirectory.open(root) as logs:
            assert (logs.log(self.DAMAGED).holes, logs.log(self.DAMAGED).log_end_offset) == ((hole,), 10)
            assert logs.log(self.SOUND).log_end_offset == 9

    @pytest.mark.parametrize("is_closed", [True, False])
    def test_a_first_segment_that_is_lost_is_missed(self, tmp_path: Path, *, is_closed: bool) -> None:
        partition = TopicPartition("t", 0)
        logs = LogDirectory.open(tmp_path, CONFIG)
        log = logs.create(partition)
        for offset in range(RECORDS):
            log.append([value(offset)])
        logs.close() if is_closed else logs.abandon()
        first_segment_missing(tmp_path / "t-0")
        with LogDirectory.open(tmp_path, CONFIG) as logs:
            assert isinstance(logs.unreadable[partition], DamagedLogError)

    def test_other_nodes_have_copies_of_one(self, root: Path) -> None:
        with LogDirectory.open(root) as logs:
            assert 0 < logs.open_unreadable(self.DAMAGED, replicated=True).log_end_offset < 9

    def test_a_function_says_it_as_the_root_is_opened(self, root: Path) -> None:
        policies: dict[TopicPartition, Damage] = {self.DAMAGED: "hole", self.OTHER: "cut"}
        with LogDirectory.open(root, damage=lambda partition: policies.get(partition, "raise")) as logs:
            assert not logs.unreadable
            assert len(logs.log(self.DAMAGED).holes) == 1
            assert 0 < logs.log(self.OTHER).log_end_offset < 9
            assert logs.log(self.SOUND).log_end_offset == 9

    def test_a_function_says_of_which_other_nodes_have_copies(self, root: Path) -> None:
        with LogDirectory.open(root, replicated=lambda partition: partition == self.OTHER) as logs:
            assert logs.unreadable.keys() == {self.DAMAGED}
            assert logs.shortfalls.keys() == {self.OTHER}
            assert 0 < logs.log(self.OTHER).log_end_offset < 9


class TestAfterAStopInOrder:
    @pytest.mark.parametrize("fault", [in_the_length_of_its_batch, in_its_magic, last_segment_short])
    def test_damage_that_an_index_does_not_lead_past_is_refused_too(
        self, tmp_path: Path, fault: Callable[[Path], None]
    ) -> None:
        directory = tmp_path / "t-0"
        with Log.open(directory) as log:
            for number in range(9):
                log.append([value(number)])
        fault(directory)
        before = files(directory)
        for _ in range(2):
            with pytest.raises(DamagedLogError, match="closed in order"):
                Log.open(directory)
        assert files(directory) == before


class TestClosedInOrderWithoutAPromise:
    """Earlier releases wrote none; the checkpoints of a log that was closed in order say as much."""

    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        with Log.open(tmp_path / "t-0", CONFIG) as log:
            for offset in range(RECORDS):
                log.append([value(offset)])
        (tmp_path / "t-0" / PROMISED_OFFSETS_NAME).unlink()
        return tmp_path / "t-0"

    @pytest.mark.parametrize(
        "fault",
        [first_segment_missing, last_segment_missing, last_segment_short, all_segments_missing],
        ids=lambda fault: fault.__name__,
    )
    def test_what_the_checkpoints_say_is_missed(self, directory: Path, fault: Callable[[Path], None]) -> None:
        fault(directory)
        before = files(directory)
        with pytest.raises(DamagedLogError) as refused:
            Log.open(directory, CONFIG)
        assert files(directory) == before
        with Log.open(directory, CONFIG, damage="hole") as log:
            assert log.log_end_offset == RECORDS
            assert (refused.value.offset, refused.value.end_offset) in {
                (hole.start_offset, hole.end_offset) for hole in log.holes
            }
            kept = set(read(log))
            assert all(offset in kept or any(within(log.holes, offset)) for offset in range(RECORDS))

    def test_a_log_that_lacks_nothing_is_opened(self, directory: Path) -> None:
        with Log.open(directory, CONFIG) as log:
            assert read(log) == set(range(RECORDS))


class TestReadersBesideIt:
    """`Log.reader` passes over nothing that an only copy lacks."""

    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        with Log.open(tmp_path / "t-0", CONFIG) as log:
            for offset in range(RECORDS):
                log.append([value(offset)])
        return tmp_path / "t-0"

    def test_a_missing_segment_is_damage(self, directory: Path) -> None:
        missing, behind = (int(path.stem) for path in segments(directory)[1:3])
        middle_segment_missing(directory)
        with Log.reader(directory) as log:
            found = list[int]()
            with pytest.raises(CorruptBatchError, match=f"end at offset {missing - 1}, and") as refused:
                found += (record.offset for record in log.records(missing - 1))
            assert refused.value.offset == missing
            assert [record.offset for record in log.records(behind)] == list(range(behind, RECORDS))

    @pytest.mark.parametrize("is_in_root", [False, True])
    def test_a_first_segment_that_is_missing_is_damage(self, tmp_path: Path, *, is_in_root: bool) -> None:
        partition = TopicPartition("t", 1)
        with ExitStack() as stack:
            if is_in_root:
                log = stack.enter_context(LogDirectory.open(tmp_path, CONFIG)).create(partition)
            else:
                log = stack.enter_context(Log.open(tmp_path / "t-1", CONFIG))
            for offset in range(RECORDS):
                log.append([value(offset)])
            log.flush()
            log.delete_records(3)
        directory = log.directory
        with Log.reader(directory) as reader:
            assert [record.offset for record in reader.records()] == list(range(3, RECORDS))
        first_segment_missing(directory)
        behind = int(segments(directory)[0].stem)
        with Log.reader(directory) as reader:
            assert reader.log_start_offset == 3
            with pytest.raises(CorruptBatchError, match="first segment is missing"):
                list(reader.records())
            assert [record.offset for record in reader.records(behind)] == list(range(behind, RECORDS))

    @pytest.mark.parametrize("fault", [middle_segment_missing, middle_segment_short, last_segment_missing])
    def test_a_hole_is_told_of_as_by_the_log(self, directory: Path, fault: Callable[[Path], None]) -> None:
        fault(directory)
        with Log.open(directory, CONFIG, damage="hole") as log:
            (hole,) = log.holes
            expected = read(log)
        with Log.reader(directory) as reader:
            with pytest.raises(HoleError) as told:
                list(reader.records())
            assert (told.value.offset, told.value.next_offset) == (hole.start_offset, hole.end_offset)
            behind = {record.offset for record in reader.records(hole.end_offset)}
        assert behind == {offset for offset in expected if offset >= hole.end_offset}


def test_a_promise_that_is_older_than_the_stop_in_order_brings_no_deleted_records_back(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    with Log.open(directory, CONFIG) as log:
        for offset in range(RECORDS):
            log.append([value(offset)])
    older = (directory / PROMISED_OFFSETS_NAME).read_bytes()
    with Log.open(directory, CONFIG) as log:
        log.delete_records(30)
    (directory / PROMISED_OFFSETS_NAME).write_bytes(older)
    with Log.open(directory, CONFIG) as log:
        assert (log.log_start_offset, read(log)) == (30, set(range(30, RECORDS)))


class TestOtherSmallFiles:
    """What one of them says is not believed where the log knows that it has said something else since."""

    def test_epochs_of_before_are_rebuilt_and_none_goes_on_whose_records_are_gone(self, tmp_path: Path) -> None:
        log = Log.open(tmp_path / "t-0")
        log.append([value(0)], leader_epoch=3)
        log.flush()
        checkpoint = log.directory / "leader-epoch-checkpoint"
        older, size = checkpoint.read_bytes(), log.size
        log.append([value(1)], leader_epoch=4)
        log.abandon()
        [path] = segments(log.directory)
        path.write_bytes(path.read_bytes()[:size])
        checkpoint.write_bytes(older)
        with Log.open(log.directory) as log:
            assert "its latest epoch is 3, and epoch 4 had begun" in log.report.damaged_epoch_checkpoint
            log.append([value(1)])
            assert log.epochs.entries == [(3, 0), (5, 1)]

    @pytest.mark.parametrize("fault", [first_segment_missing, last_segment_short], ids=lambda fault: fault.__name__)
    def test_checkpoints_know_the_records_of_a_log_that_was_flushed_empty(
        self, tmp_path: Path, fault: Callable[[Path], None]
    ) -> None:
        log = Log.open(tmp_path / "t-0")
        log.flush()
        log.append([value(0)])
        log.flush()
        log.abandon()
        (log.directory / PROMISED_OFFSETS_NAME).unlink()
        fault(log.directory)
        with pytest.raises(DamagedLogError):
            Log.open(log.directory)

    @pytest.mark.parametrize("is_closed", [False, True])
    def test_a_log_that_has_followed_others_is_known_without_its_mark(self, tmp_path: Path, *, is_closed: bool) -> None:
        log = Log.open(tmp_path / "t-0")
        log.append_batches(bytes(encode_batch([Record.of(value(0))], BatchTemplate(leader_epoch=4))))
        log.close() if is_closed else (log.flush(), log.abandon())
        (log.directory / FOLLOWED_MARK).unlink()
        with Log.open(log.directory) as log:
            with pytest.raises(FencedLeaderEpochError, match="others lead this log, too"):
                log.append([value(1)])
            log.append_batches(bytes(encode_batch([Record.of(value(1))], BatchTemplate(1, leader_epoch=4))))

    def test_checkpoints_of_a_log_of_another_name_are_told_of(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with Log.open(tmp_path / "t-0") as log:
            log.append([value(0), value(1)])
            log.flush()
            log.delete_records(1)
        shutil.copytree(log.directory, tmp_path / "copy-0")
        with Log.open(tmp_path / "copy-0") as log:
            assert RECOVERY_POINT_CHECKPOINT in log.report.ignored_checkpoints
            assert (log.log_start_offset, log.log_end_offset) == (1, 2)
        assert "which is of a log of another name" in caplog.text
        with Log.open(tmp_path / "copy-0") as log:
            assert not log.report.ignored_checkpoints

    @pytest.mark.parametrize("content", [None, "0\n"])
    def test_deleted_records_are_not_back_in_a_root_whose_checkpoint_is_lost_or_older(
        self, tmp_path: Path, content: str | None
    ) -> None:
        with LogDirectory.open(tmp_path, CONFIG) as root:
            log = root.create(TopicPartition("t", 0))
            for offset in range(RECORDS):
                log.append([value(offset)])
            log.flush()
            log.delete_records(30)
        checkpoint = tmp_path / LOG_START_OFFSET_CHECKPOINT
        checkpoint.unlink() if content is None else checkpoint.write_text("0\n1\nt 0 3\n")
        with LogDirectory.open(tmp_path, CONFIG) as root:
            assert root.log(TopicPartition("t", 0)).log_start_offset == 30

    def test_a_truncation_whose_files_are_left_does_not_tell_that_the_first_segment_was_deleted(
        self, tmp_path: Path
    ) -> None:
        partition = TopicPartition("t", 0)
        root = LogDirectory.open(tmp_path, replace(CONFIG, file_delete_delay_ms=60_000))
        log = root.create(partition)
        for offset in range(20):
            log.append([value(offset)])
        second = log.segments[1].base_offset
        log.truncate_to(1)
        for _ in range(1, 20):
            log.append([b"x"])
        log.flush()
        root.abandon()
        assert list(log.directory.glob(f"*{second}.log.deleted"))
        segments(log.directory)[0].unlink()
        with LogDirectory.open(tmp_path, CONFIG) as again:
            assert "the first segment is missing" in str(again.unreadable[partition])

    def test_no_epoch_goes_on_that_a_root_may_know_of_although_it_is_not_believed(self, tmp_path: Path) -> None:
        partition = TopicPartition("t", 0)
        with LogDirectory.open(tmp_path, CONFIG) as root:
            log = root.create(partition)
            for offset in range(RECORDS):
                log.append([value(offset)])
            log.flush()
            log.truncate_to(12)
            earlier = (log.directory / PROMISED_OFFSETS_NAME).read_bytes()
            log.append([value(12)], leader_epoch=3)
        (log.directory / PROMISED_OFFSETS_NAME).write_bytes(earlier)
        segments(log.directory)[-1].unlink()
        with LogDirectory.open(tmp_path, CONFIG) as root:
            log = root.log(partition)
            assert log.log_end_offset == 12
            log.append([b"more"])
            assert log.epochs.entries[-1] == (4, 12)

    @pytest.mark.parametrize("cut", [Log.truncate_to, Log.truncate_fully_and_start_at], ids=lambda cut: cut.__name__)
    def test_a_promise_of_just_after_a_truncation_leaves_the_checkpoints_in_force(
        self, tmp_path: Path, cut: Callable[[Log, int], object]
    ) -> None:
        log = Log.open(tmp_path / "t-0", CONFIG)
        for offset in range(RECORDS):
            log.append([value(offset)])
        log.flush()
        cut(log, 12)
        earlier = (log.directory / PROMISED_OFFSETS_NAME).read_bytes()
        for offset in range(12, 40):
            log.append([value(offset)])
        log.flush()
        log.delete_records(14)
        log.flush()
        log.abandon()
        (log.directory / PROMISED_OFFSETS_NAME).write_bytes(earlier)
        with Log.open(log.directory, CONFIG) as log:
            assert (log.log_start_offset, log.recovery_point) == (14, 40)
        (log.directory / PROMISED_OFFSETS_NAME).write_bytes(earlier)
        last_segment_missing(log.directory)
        with pytest.raises(DamagedLogError, match="the recovery point is 40"):
            Log.open(log.directory, CONFIG)

    def test_a_promise_of_the_first_releases_is_read(self, directory: Path) -> None:
        slot = struct.pack(">qq", RECORDS, 0)
        (directory / PROMISED_OFFSETS_NAME).write_bytes(slot + struct.pack(">I", crc32(slot)))
        assert PromisedOffsets(directory).read() == (RECORDS, 0, 0, (-1, 0, 0, False, 0), -1, 0)
        last_segment_missing(directory)
        with pytest.raises(DamagedLogError, match=f"the recovery point is {RECORDS}"):
            Log.open(directory, CONFIG)


def records_or_error(log: Log, offset: int) -> bytes | None:
    """Read one record; None where the reader is told that it is not there."""
    try:
        record = next(log.records(offset))
    except LogStoreError:
        return None
    assert record.offset == offset
    return record.value


def test_a_producer_has_not_written_what_is_cut_as_its_offset_is_wrong(tmp_path: Path) -> None:
    """Else it is told that it was written already, once it writes it again."""
    log = Log.open(tmp_path / "t-0")
    producer = log.producer(7)
    producer.append([value(0)])
    log.flush()
    position = log.size
    producer.append([value(1)])
    log.abandon()
    flip(segments(log.directory)[0], position + 7)
    with Log.open(log.directory) as log:
        assert (log.log_end_offset, len(log.report.dropped)) == (1, 1)
        assert [producer.last_sequence for producer in log.producers] == [0]


class TestEachBit:
    """Of what no checksum covers, and decides where recovery believes that the log ends."""

    @staticmethod
    def check(directory: Path, config: LogConfig, path: Path, position: int, bit: int) -> bool:
        """Flip a bit for as long as the log is looked at; return whether it was refused."""
        copy = directory.parent / "flipped" / directory.name
        shutil.copytree(directory, copy)
        data = bytearray(path.read_bytes())
        data[position] ^= 1 << bit
        (copy / path.name).write_bytes(data)
        before = files(copy)
        try:
            with Log.open(copy, config) as log:
                assert log.log_end_offset < 20
                for offset in range(9):
                    assert records_or_error(log, offset) in {None, value(offset)}, (position, bit, offset)
        except DamagedLogError:
            assert files(copy) == before
            return True
        finally:
            shutil.rmtree(copy.parent)
        return False

    def test_of_a_base_offset_after_a_crash(self, tmp_path: Path) -> None:
        config = LogConfig(index_interval_bytes=200)
        log = Log.open(tmp_path / "t-0", config)
        positions = []
        for first, end in ((0, 2), (2, 3), (3, 6), (6, 7), (7, 9)):
            positions.append(log.size)
            log.append([value(offset) for offset in range(first, end)])
        log.flush()
        log.append([b"not flushed"])
        log.abandon()
        [path] = segments(log.directory)
        refused = [
            self.check(log.directory, config, path, position + byte, bit)
            for position in positions
            for byte in range(8)
            for bit in range(8)
        ]
        assert sum(refused) > len(refused) // 2

    @pytest.mark.parametrize("is_known", [True, False])
    def test_of_a_base_offset_where_little_or_nothing_is_known_to_be_promised(
        self, tmp_path: Path, *, is_known: bool
    ) -> None:
        log = Log.open(tmp_path / "t-0")
        positions = []
        for first, end in ((0, 2), (2, 3), (3, 6)):
            positions.append(log.size)
            log.append([value(offset) for offset in range(first, end)])
        log.flush()
        if is_known:
            log.delete_records(6)
        log.abandon()
        if not is_known:
            for name in (PROMISED_OFFSETS_NAME, RECOVERY_POINT_CHECKPOINT):
                (log.directory / name).unlink()
        [path] = segments(log.directory)
        for position in positions:
            for bit in range(40):
                data = bytearray(path.read_bytes())
                data[position + bit // 8] ^= 1 << bit % 8
                copy = tmp_path / f"{position}-{bit}" / "t-0"
                shutil.copytree(log.directory, copy)
                (copy / path.name).write_bytes(data)
                before = files(copy)
                try:
                    Log.open(copy).close()
                except DamagedLogError:
                    assert files(copy) == before, (position, bit)

    def test_of_a_length_after_a_stop_in_order_leaves_a_hole(self, tmp_path: Path) -> None:
        with Log.open(tmp_path / "t-0") as log:
            positions = []
            for first, end in ((0, 2), (2, 5), (5, 6)):
                positions.append(log.size)
                log.append([value(offset) for offset in range(first, end)])
        [path] = segments(log.directory)
        for position in positions:
            for bit in range(0, 32, 3):
                data = bytearray(path.read_bytes())
                data[position + LENGTH_AT + bit // 8] ^= 1 << bit % 8
                copy = tmp_path / f"{position}-{bit}" / "t-0"
                shutil.copytree(log.directory, copy)
                (copy / path.name).write_bytes(data)
                with Log.open(copy, damage="hole") as opened:
                    assert (opened.log_start_offset, opened.log_end_offset) == (0, 6), (position, bit)
                    assert opened.holes
                    read(opened)

    def test_of_an_index_after_a_stop_in_order(self, tmp_path: Path) -> None:
        config = LogConfig(index_interval_bytes=100)
        with Log.open(tmp_path / "t-0", config) as log:
            for offset in range(9):
                log.append([value(offset)])
        [path] = log.directory.glob("*.index")
        size = path.stat().st_size
        assert size > 20
        for position in range(size):
            for bit in range(8):
                self.check(log.directory, config, path, position, bit)


class TestArguments:
    def test_only_known_words_are_taken(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match='pass "raise", "hole" or "cut"'):
            Log.open(tmp_path / "t-0", damage="ignore")  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="replicated"):
            Log.open(tmp_path / "t-0", damage="hole", replicated=True)


class TestDamageInASegmentThatAnOpenNeedNotCheck:
    """It was flushed long ago, and its indexes fit: who reads there comes across it."""

    @pytest.fixture
    def damaged(self, directory: Path) -> Path:
        Log.open(directory, CONFIG).close()
        flip(segments(directory)[1], segments(directory)[1].stat().st_size // 2)
        return directory

    def test_is_read_with_the_way_to_keep_the_rest(self, damaged: Path) -> None:
        with Log.open(damaged, CONFIG) as log:
            for read in (log.records, log.cursor("reader").records, lambda: iter(log.tail(0))):
                with pytest.raises(CorruptBatchError, match='check_all=True and damage="hole"'):
                    for _ in read():
                        pass

    def test_is_found_where_all_is_checked(self, damaged: Path) -> None:
        before = files(damaged)
        with pytest.raises(DamagedLogError, match='check_all=True and damage="hole"') as caught:
            Log.open(damaged, CONFIG, check_all=True)
        assert files(damaged) == before
        with Log.open(damaged, CONFIG, damage="hole", check_all=True) as log:
            [hole] = log.holes
            assert (hole.start_offset, hole.end_offset) == (caught.value.offset, caught.value.end_offset)
            kept = [record.offset for record in log.records(skip_holes=True)]
        assert kept == [each for each in range(RECORDS + 1) if not hole.start_offset <= each < hole.end_offset]
        with Log.open(damaged, CONFIG, check_all=True) as log:
            assert log.holes == (hole,)

    @pytest.mark.parametrize("epoch", [0, 2, 1 << 17])
    def test_is_found_in_a_leader_epoch_too_which_no_checksum_covers(self, tmp_path: Path, epoch: int) -> None:
        directory = tmp_path / "t-0"
        with Log.open(directory, CONFIG) as log:
            for offset in range(RECORDS):
                log.append([value(offset)], leader_epoch=1 + offset // 40)
        [path] = (path for path in segments(directory) if int(path.stem) == 12)
        with LogFile.open(path) as segment:
            batch = list(segment.batches())[3]
        assert batch.leader_epoch == 1
        data = bytearray(path.read_bytes())
        data[batch.position + 12 : batch.position + 16] = epoch.to_bytes(4)
        path.write_bytes(data)
        with pytest.raises(DamagedLogError, match="leader epoch fits neither") as caught:
            Log.open(directory, CONFIG, check_all=True)
        assert caught.value.position == batch.position
        with Log.open(directory, CONFIG, damage="hole", check_all=True) as log:
            assert log.holes == (Hole(batch.base_offset, batch.base_offset + 1),)
            assert len(list(log.records(skip_holes=True))) == RECORDS - 1

    def test_is_found_in_the_leader_epoch_of_the_last_batch_before_another_segment(self, directory: Path) -> None:
        """Where the latest epoch goes on, only the batch behind it contradicts a later one."""
        Log.open(directory, CONFIG).close()
        before, behind = segments(directory)[-3:-1]
        with LogFile.open(before) as segment:
            *_, batch = segment.batches()
        flip(before, batch.position + 15)
        with pytest.raises(DamagedLogError, match="leader epoch fits neither") as caught:
            Log.open(directory, CONFIG, check_all=True)
        assert caught.value.position == batch.position
        with Log.open(directory, CONFIG, damage="hole", check_all=True) as log:
            assert log.holes == (Hole(batch.base_offset, int(behind.stem)),)

    def test_is_none_in_the_leader_epoch_of_what_was_deleted(self, tmp_path: Path) -> None:
        """Its replica forgets all epochs of a log without records; the next leader may begin with an earlier one."""
        with Log.open(tmp_path / "t-0", CONFIG) as log:
            log.append([value(0)], leader_epoch=3)
            log.flush()
            log.delete_records(1)
        Log.open(log.directory, CONFIG, replicated=True).close()
        with Log.open(log.directory, CONFIG) as log:
            log.append([value(1), value(2)], leader_epoch=0)
        with Log.open(log.directory, CONFIG, check_all=True) as log:
            assert [record.value for record in log.records()] == [value(1), value(2)]
            assert [record.value for record in log.records(2)] == [value(2)]

    @pytest.mark.parametrize("damage", ["raise", "hole", "cut"])
    @pytest.mark.parametrize(
        ("entry", "epoch", "start"), [(1, 2, 3), (1, 2, 38), (1, 10, 25), (2, 20, 28), (2, 21, 50)]
    )
    def test_is_not_found_in_batches_that_a_damaged_history_of_epochs_contradicts(
        self, tmp_path: Path, entry: int, epoch: int, start: int, damage: Damage
    ) -> None:
        directory = tmp_path / "t-0"
        with Log.open(directory, CONFIG) as log:
            for offset in range(RECORDS):
                log.append([value(offset)], leader_epoch=(1, 2, 20)[offset // 25])
        checkpoint = LeaderEpochCheckpoint(directory)
        before = checkpoint.read()
        checkpoint.write([EpochEntry(epoch, start) if each == before[entry] else each for each in before])
        with Log.open(directory, CONFIG, damage=damage, check_all=True) as log:
            assert LEADER_EPOCH_CHECKPOINT in log.report.damaged_epoch_checkpoint
            assert (log.holes, log.report.dropped) == ((), [])
            for offset in range(RECORDS):
                assert next(iter(log.records(offset))).value == value(offset)
        assert checkpoint.read()[: len(before)] == before

    def test_ends_a_log_that_is_to_be_cut(self, damaged: Path) -> None:
        with Log.open(damaged, CONFIG, damage="cut", check_all=True) as log:
            end = log.log_end_offset
            assert [record.offset for record in log.records()] == list(range(end))
            assert all(tail.set_aside for tail in log.report.dropped)
        assert 0 < end < RECORDS

    def test_is_found_in_a_root(self, damaged: Path) -> None:
        partition = TopicPartition("t", 0)
        with LogDirectory.open(damaged.parent, CONFIG) as logs:
            assert not logs.unreadable
        with LogDirectory.open(damaged.parent, CONFIG, check_all=True) as logs:
            assert list(logs.unreadable) == [partition]
            assert logs.open_unreadable(partition, damage="hole").holes

    def test_changes_no_sound_log(self, directory: Path) -> None:
        Log.open(directory, CONFIG).close()
        with Log.open(directory, CONFIG, check_all=True) as log:
            assert [record.offset for record in log.records()] == list(range(RECORDS + 1))
            assert log.report.recovered_segments == len(segments(directory))
            assert not log.report.dropped


def batch_in_a_value(base_offset: int, count: int) -> bytes:
    """A record's value that is a sound batch of another log, as of one that is mirrored."""
    made = bytearray(encode_batch([Record.of(b"foreign") for _ in range(count)]))
    made[:8] = base_offset.to_bytes(8, "big")
    return bytes(made)


@pytest.mark.parametrize("where", ["the damaged batch", "all batches"])
@pytest.mark.parametrize("flipped", ["a record", "length", "magic", "checksum"])
def test_a_batch_in_a_value_is_never_taken_for_one_of_the_log(tmp_path: Path, where: str, flipped: str) -> None:
    """Those behind the damage stay, and no others, whatever the values look like and whichever bit it is."""
    path, config = tmp_path / "t-0", LogConfig(segment_bytes=5_000)
    foreign = [batch_in_a_value(base, 3) for base in (1, 40, 2_500)]
    damaged, gone = 3, range(0)
    written: dict[int, bytes] = {}
    with Log.open(path, config) as log:
        for offset in range(60):
            values = foreign if where == "all batches" or offset == damaged else [b"value %d" % offset]
            first = log.append(values).first_offset
            written |= {first + each: value for each, value in enumerate(values)}
            if offset == damaged:
                gone = range(first, first + len(values))
    segment = segments(path)[0]
    with LogFile.open(segment) as file:
        at = next(batch.position for batch in file.batches() if batch.base_offset == gone.start)
    flip(segment, at + {"a record": 90, "length": LENGTH_AT + 3, "magic": 16, "checksum": 17}[flipped])
    with pytest.raises(DamagedLogError):
        Log.open(path, config, check_all=True)
    with Log.open(path, config, damage="hole", check_all=True) as log:
        found = {record.offset: record.value for record in log.records(skip_holes=True)}
    assert found == {offset: value for offset, value in written.items() if offset not in gone}
