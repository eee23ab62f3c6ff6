"""Header chains of logs in use: they follow what is flushed, are cut with the log, and refuse no sound log."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from epoch.filesystem import FileSystem
from logstore.batch.record import Record
from logstore.errors import DamagedLogError
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.segment.header_chain import HeaderChain
from tests.crash_states import crash_states, write_state
from tests.logstore.directories import assert_sound
from tests.logstore.late_syncs import late_syncs
from tests.oracle.kafka import JavaProgram
from tests.recording_disk import RecordingDisk

CONFIG = LogConfig(segment_bytes=1_000)
NOW = 1_700_000_000_000
RECORDS = 27
"""The last segment takes more."""
VALUE = b"a value of a hundred bytes, more or less, " * 2


@pytest.fixture(autouse=True, params=[False, True], ids=["synced", "synced-late"])
def syncs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Segments are synced as the next ones begin, or later."""
    with late_syncs(are_late=request.param):
        yield


def chains(directory: Path) -> list[HeaderChain]:
    found = [HeaderChain.read(path) for path in sorted(directory.glob("*.chain"))]
    return [chain for chain in found if chain is not None]


def fits(directory: Path) -> bool:
    """Whether all segments have chains of all that they hold."""
    for log in sorted(directory.glob("*.log")):
        chain, data = HeaderChain.read(log.with_suffix(".chain")), log.read_bytes()
        if data and (chain is None or chain.end.position != len(data) or chain.first_mismatch(memoryview(data))):
            return False
    return True


def fill(log: Log, count: int, letter: bytes = b"a", leader_epoch: int | None = None) -> None:
    for _ in range(count):
        log.append([Record(0, NOW, None, VALUE + letter)], leader_epoch=leader_epoch)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Of a log of several segments, closed in order."""
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        fill(log, RECORDS)
        assert len(log.segments) > 3
    return tmp_path / "t-0"


def test_each_segment_has_a_chain_that_follows_the_one_before(directory: Path) -> None:
    assert fits(directory)
    previous = 0
    for chain in chains(directory):
        assert chain.start.previous == previous
        assert chain.end.modified_ns
        previous = chain.end.digest


def test_it_grows_with_flushes_by_blocks(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append([bytes(100)])
        log.flush()
        assert not chains(log.directory)
        for _ in range(2):
            log.append([bytes(1_000_000)])
        log.flush()
        [chain] = chains(log.directory)
        assert chain.end.position == log.size


def test_what_is_not_flushed_is_not_in_it(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        for _ in range(2):
            log.append([bytes(1_000_000)])
        assert not chains(log.directory)
        log.flush()
        for _ in range(2):
            log.append([bytes(1_000_000)])
        [chain] = chains(log.directory)
        assert chain.end.position < log.size


def test_it_goes_on_after_an_open(directory: Path) -> None:
    with Log.open(directory, CONFIG) as log:
        fill(log, 20)
    assert fits(directory)
    assert_sound(directory)


def test_a_log_that_has_none_gets_one_for_what_it_writes_on_in(directory: Path) -> None:
    for path in directory.glob("*.chain"):
        path.unlink()
    with Log.open(directory, CONFIG) as log:
        fill(log, 20)
        assert not log.report.chain_faults
        assert not log.report.rewritten_chains
    assert len(chains(directory)) >= 2
    assert_sound(directory)


@pytest.mark.parametrize("end", [0, 1, 3, 12, RECORDS - 1, RECORDS])
def test_a_truncation_cuts_it(directory: Path, end: int) -> None:
    with Log.open(directory, CONFIG) as log:
        log.truncate_to(end)
        fill(log, 9, b"b")
    assert fits(directory)
    assert_sound(directory)
    assert len(chains(directory)) == len(list(directory.glob("*.log")))


def test_a_log_that_was_given_another_name_goes_on(directory: Path) -> None:
    renamed = directory.rename(directory.parent / "u-0")
    with Log.open(renamed, CONFIG) as log:
        fill(log, 20)
    assert fits(renamed)
    assert len({chain.start.log for chain in chains(renamed)}) == 1
    assert_sound(renamed)


def test_it_goes_with_its_segment(directory: Path) -> None:
    with Log.open(directory, CONFIG) as log:
        log.delete_records(log.log_end_offset)
        log.delete_old_segments()
        fill(log, 1)
    assert fits(directory)
    assert len(chains(directory)) == len(list(directory.glob("*.log")))


def test_a_log_that_begins_anew_has_none_of_before(directory: Path) -> None:
    with Log.open(directory, CONFIG) as log:
        log.truncate_fully_and_start_at(0)
        fill(log, 3, b"b")
    assert fits(directory)
    assert_sound(directory)


@pytest.mark.parametrize("delay_ms", [0, 60_000])
def test_compaction_makes_it_anew(tmp_path: Path, delay_ms: int) -> None:
    config = LogConfig(
        cleanup_policy=frozenset({"compact"}),
        segment_bytes=1_000,
        min_cleanable_dirty_ratio=0.0,
        file_delete_delay_ms=delay_ms,
    )
    with Log.open(tmp_path / "t-0", config) as log:
        for number in range(60):
            log.append([Record(0, 1_000, b"key %d" % (number % 5), VALUE)])
        log.flush()
        assert log.compact().segments_before
        assert [chain.start.is_anew for chain in chains(log.directory)].count(True) == 1
    assert fits(tmp_path / "t-0")
    assert_sound(tmp_path / "t-0")
    with Log.open(tmp_path / "t-0", config) as log:
        assert not log.report.chain_faults


# --- what others do


def opened_by_kafka(oracle: JavaProgram, directory: Path, *, clean: bool = True) -> None:
    said = oracle.ask(f"open {directory} segmentBytes=1000 clean={str(clean).lower()} recoveryPoint=0 logStart=0")
    assert said[0].startswith("ok"), said


@pytest.mark.parametrize("clean", [False, True])
def test_kafka_leaves_it_alone_and_it_goes_on_behind_what_kafka_wrote(
    log_oracle: JavaProgram, directory: Path, *, clean: bool
) -> None:
    before = {path.name: path.read_bytes() for path in directory.glob("*.chain")}
    opened_by_kafka(log_oracle, directory, clean=clean)
    log_oracle.ask("appendLeader 0 1 50 1700000000000", "close")
    assert {path.name: path.read_bytes() for path in directory.glob("*.chain")} == before
    active = max(directory.glob("*.log")).name
    with Log.open(directory, CONFIG) as log:
        assert log.report.rewritten_chains == [active]
        assert not log.report.chain_faults
        fill(log, 5)
    assert fits(directory)
    assert_sound(directory)
    with Log.open(directory, CONFIG) as log:
        assert not log.report.rewritten_chains


@pytest.mark.parametrize("replicated", [False, True])
def test_what_kafka_truncated_and_wrote_in_a_later_epoch_is_no_damage(
    log_oracle: JavaProgram, directory: Path, *, replicated: bool
) -> None:
    opened_by_kafka(log_oracle, directory)
    end = int(log_oracle.ask("leo")[0])
    log_oracle.ask(f"truncateTo {end - 2}", "appendLeader 5 1 70 1700000000000", "appendLeader 5 1 70 1700000000000")
    log_oracle.ask("appendLeader 5 1 70 1700000000000", "close")
    with Log.open(directory, CONFIG, replicated=replicated) as log:
        assert not log.report.chain_faults
        assert log.log_end_offset == end + 1
        fill(log, 5, leader_epoch=6)
    assert_sound(directory)


def test_kafka_removes_what_compaction_left_half_way(log_oracle: JavaProgram, directory: Path) -> None:
    [first, *_] = sorted(directory.glob("*.chain"))
    data = first.read_bytes()
    for suffix in (".deleted", ".cleaned"):
        first.with_name(first.name + suffix).write_bytes(data)
    opened_by_kafka(log_oracle, directory)
    log_oracle.ask("close")
    assert not [*directory.glob("*.deleted"), *directory.glob("*.cleaned")]
    assert fits(directory)


# --- damage


def damage(directory: Path) -> Path:
    """Let two logs of equal offsets and epochs share a segment."""
    with Log.open(directory.parent / "other-0", CONFIG) as log:
        fill(log, RECORDS, b"b")
    last = max(directory.glob("*.log"))
    shutil.copy(directory.parent / "other-0" / last.name, last)
    return last


@pytest.mark.parametrize("check_all", [False, True])
def test_an_only_copy_is_refused_and_nothing_changed(directory: Path, *, check_all: bool) -> None:
    last = damage(directory)
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    with pytest.raises(DamagedLogError, match="not those that were brought to stable storage") as raised:
        Log.open(directory, CONFIG, check_all=check_all)
    assert (raised.value.file, raised.value.position, raised.value.offset) == (str(last), 0, int(last.stem))
    after = {path.name: path.read_bytes() for path in directory.iterdir()}
    assert {name: after[name] for name in before if name != "promised-offsets"} == {
        name: content for name, content in before.items() if name != "promised-offsets"
    }


@pytest.mark.parametrize("policy", ["hole", "cut"])
def test_it_is_taken_as_it_is_where_that_is_asked_for(directory: Path, policy: str) -> None:
    last = damage(directory)
    with Log.open(directory, CONFIG, damage=policy) as log:  # type: ignore[arg-type]
        [fault] = log.report.chain_faults
        assert (fault.file, fault.position, fault.last_offset) == (last.name, 0, RECORDS - 1)
        assert log.log_end_offset == RECORDS
    with Log.open(directory, CONFIG) as log:
        assert not log.report.chain_faults
        fill(log, 9)
    assert_sound(directory)


def test_a_replica_reports_it(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    damage(directory)
    log = Log.open(directory, CONFIG, replicated=True)
    assert len(log.report.chain_faults) == 1
    log.close()
    assert "other batches between 0 and" in caplog.text


def test_what_lies_in_an_earlier_segment_is_found_by_checking_all(directory: Path) -> None:
    with Log.open(directory.parent / "other-0", CONFIG) as log:
        fill(log, RECORDS, b"b")
    first = min(directory.glob("*.log"))
    shutil.copy(directory.parent / "other-0" / first.name, first)
    with pytest.raises(DamagedLogError, match="header chain"):
        Log.open(directory, CONFIG, check_all=True)


# --- crashes


def test_whatever_is_left_of_the_file_refuses_no_log(directory: Path) -> None:
    path = max(directory.glob("*.chain"))
    whole = path.read_bytes()
    with Log.open(directory, CONFIG) as log:
        fill(log, 2)
    ahead = path.read_bytes()
    copy = directory.parent / "copy-0"
    for content in [whole, ahead, b"", bytes(len(ahead)), *(ahead[:length] for length in range(0, len(ahead), 7))]:
        for is_closed in (False, True):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(directory, copy)
            (copy / path.name).write_bytes(content)
            if not is_closed:
                (copy / ".kafka_cleanshutdown").unlink()
            with Log.open(copy, CONFIG) as log:
                assert not log.report.chain_faults
                fill(log, 2)
            assert_sound(copy)


class Life:
    """A replica that is cut and written anew in the same epoch, and each step that it did on the disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.disk = RecordingDisk()
        self.live()

    def live(self) -> None:
        for letter in (b"a", b"b"):
            with Log.open(self.root / "t-0", CONFIG, replicated=True, filesystem=self.disk) as log:
                log.truncate_to(3)
                fill(log, 3 + 6 * (letter == b"a"), letter, leader_epoch=0)
                log.flush()
                log.truncate_to(5)
                fill(log, 4, letter, leader_epoch=0)
                log.flush()


def states(root: Path) -> Iterator[dict[Path, bytes | None]]:
    life = Life(root)
    for _, state in crash_states(life.disk.steps, root):
        yield state


def test_no_crash_makes_it_say_what_never_was(memory_dir: Path) -> None:
    (memory_dir / "lived").mkdir()
    place = memory_dir / "crashed"
    seen = 0
    for number, state in enumerate(states(memory_dir / "lived")):
        if Path("t-0") not in state or not any(path.suffix == ".chain" for path in state):
            continue
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        write_state(state, place)
        with Log.open(place / "t-0", CONFIG, replicated=True) as log:
            assert not log.report.chain_faults, f"state {number}"
            fill(log, 2, b"d", leader_epoch=0)
        assert_sound(place / "t-0")
        seen += 1
    assert seen > 50


class DiskWithoutChains(FileSystem):
    """One that writes everything but header chains."""

    def overwrite(self, path: Path, position: int, data: bytes, *, sync: bool = False) -> None:
        if path.suffix == ".chain":
            raise OSError(5, "Input/output error", str(path))
        super().overwrite(path, position, data, sync=sync)


def test_a_log_does_without_it_where_it_cannot_be_written(directory: Path) -> None:
    for path in directory.glob("*.chain"):
        path.unlink()
    with Log.open(directory, CONFIG, filesystem=DiskWithoutChains()) as log:
        fill(log, 20)
        log.flush()
    assert not chains(directory)
    with Log.open(directory, CONFIG) as log:
        fill(log, 20)
    assert_sound(directory)
