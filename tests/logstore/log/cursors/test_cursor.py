"""A cursor is where it was committed, never beyond what is flushed, and tells of truncations below it."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epoch.history import EpochHistory
from logstore.directory.log_directory import LogDirectory
from logstore.errors import (
    CorruptCheckpointError,
    LogClosedError,
    LogTruncatedError,
    OffsetOutOfRangeError,
)
from logstore.log.cursors.committed_position import CommittedPosition
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.offline_log_directory import open_offline
from logstore.topic_partition import TopicPartition
from logstore.verify import verify
from tests.interruption import InterruptedDisk, Interrupter, Interruption, exit_status_of

CONFIG = LogConfig(segment_bytes=300, retention_ms=-1, file_delete_delay_ms=0)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        write(log, 20)
        yield log


def write(log: Log, count: int, epoch: int | None = None) -> None:
    for _ in range(count):
        log.append([b"%d" % log.log_end_offset], leader_epoch=epoch)


def test_it_begins_at_the_logs_start_and_goes_on_where_it_was_committed(log: Log) -> None:
    cursor = log.cursor("billing")
    assert cursor.position == 0
    assert log.cursor("billing").committed is None
    for record in cursor:
        if record.offset == 6:
            break
    assert cursor.commit() == cursor.position == cursor.committed == 7
    assert next(iter(cursor)).offset == 7
    log.close()
    again = Log.open(log.directory, CONFIG)
    assert again.cursor("billing").position == 7
    assert again.cursor_names == ["billing"]
    assert [record.offset for record in again.cursor("billing")] == list(range(7, 20))
    again.close()


def test_an_offset_may_be_committed_that_is_not_the_position(log: Log) -> None:
    cursor = log.cursor("billing")
    assert cursor.commit(5) == 5
    assert cursor.position == 0
    for offset in (-1, 21):
        with pytest.raises(OffsetOutOfRangeError, match="offsets 0 to 20"):
            cursor.commit(offset)
    assert cursor.committed == 5


def test_what_is_committed_was_flushed_before(log: Log) -> None:
    log.config = LogConfig()
    log.flush()
    write(log, 3)
    assert log.recovery_point == 20
    cursor = log.cursor("billing")
    cursor.commit(20)
    assert log.recovery_point == 20  # nothing to flush for
    cursor.commit(21)
    assert log.recovery_point == 23


def test_a_tail_moves_it(log: Log) -> None:
    cursor = log.cursor("billing")
    tail = cursor.tail()
    assert [next(iter(tail)).offset for _ in range(3)] == [0, 1, 2]
    assert cursor.position == tail.position == 3
    assert [record.offset for record in cursor.records(5)] == [3, 4]
    assert next(iter(tail)).offset == 5


def test_seek_moves_those_who_read_just_now(log: Log) -> None:
    cursor = log.cursor("billing")
    records = iter(cursor)
    assert next(records).offset == 0
    cursor.seek(10)
    assert next(records).offset == 10
    cursor.seek(11)
    assert next(records).offset == 11
    with pytest.raises(OffsetOutOfRangeError):
        cursor.seek(21)


def test_one_name_is_one_cursor(log: Log) -> None:
    assert log.cursor("a") is log.cursor("a")
    assert log.cursor("a") is not log.cursor("b")


@pytest.mark.parametrize("name", ["", "a/b", "ü", "a b", "a" * 201, "a\n"])
def test_a_name_that_is_no_file_name_is_refused(log: Log, name: str) -> None:
    with pytest.raises(ValueError, match="letters"):
        log.cursor(name)


def test_files_that_only_look_like_a_cursor_s_are_not_listed(log: Log) -> None:
    log.cursor("billing").commit(0)
    (log.directory / os.fsdecode(b"\xff.cursor")).touch()
    assert log.cursor_names == ["billing"]


@pytest.mark.parametrize("name", [".", "..", "a" * 200, "x.deleted", "x.tmp", "00000000000000000000.log"])
def test_any_other_name_is_its_own_and_no_finding(tmp_path: Path, name: str) -> None:
    with LogDirectory.open(tmp_path / "root", CONFIG) as directory:
        log = directory.create(TopicPartition("t", 0))
        write(log, 5)
        log.cursor(name).commit(3)
    assert list(verify(open_offline(tmp_path / "root"))) == []
    with LogDirectory.open(tmp_path / "root", CONFIG) as directory:
        log = directory.log(TopicPartition("t", 0))
        assert log.cursor_names == [name]
        assert log.cursor(name).position == 3
        directory.delete(TopicPartition("t", 0))
        with pytest.raises(LogClosedError):
            log.cursor(name)
        with pytest.raises(LogClosedError):
            log.cursor("other")
        directory.run_periodic()
        assert not list((tmp_path / "root").rglob("*.cursor"))


def test_a_deleted_cursor_is_new_again(log: Log) -> None:
    cursor = log.cursor("billing")
    cursor.commit(3)
    cursor.delete()
    cursor.delete()
    assert log.cursor_names == []
    assert cursor.committed is None


@pytest.mark.parametrize("content", [b"x", b"0\n0\n", b"0\n1\n0 0 -1\n", b"0\n2\n0 0 1\n0 0 2\n", b"1\n1\n0 0 1\n"])
def test_a_damaged_file_is_told(log: Log, content: bytes) -> None:
    (log.directory / "billing.cursor").write_bytes(content)
    with pytest.raises(CorruptCheckpointError, match="remove the file"):
        log.cursor("billing")


def test_every_bit_that_flips_in_a_file_is_told(log: Log) -> None:
    path = log.directory / "billing.cursor"
    log.cursor("billing").commit(17)
    written = path.read_bytes()
    for bit in range(8 * len(written)):
        damaged = bytearray(written)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(CorruptCheckpointError, match="remove the file"):
            CommittedPosition.read(path)


@given(
    st.builds(CommittedPosition, st.integers(-1, 2**31 - 1), st.integers(-1, 2**63 - 1), st.integers(0, 2**63 - 1)),
    st.data(),
)
def test_a_file_is_read_as_it_was_written_or_told_to_be_damaged(
    position: CommittedPosition, data: st.DataObject
) -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory, "billing.cursor")
        path.write_bytes(position.encode())
        assert CommittedPosition.read(path) == position
        kept = data.draw(st.integers(0, len(position.encode()) - 1))
        path.write_bytes(position.encode()[:kept] + data.draw(st.binary(max_size=3)))
        with suppress(CorruptCheckpointError):
            assert CommittedPosition.read(path) == position


def test_files_of_earlier_releases_which_have_no_checksum_are_read(log: Log) -> None:
    (log.directory / "billing.cursor").write_bytes(b"0\n1\n0 0 7\n")
    cursor = log.cursor("billing")
    assert cursor.position == cursor.committed == 7
    cursor.commit(8)
    assert (log.directory / "billing.cursor").read_bytes().startswith(b"1\n0 0 8\n")


def test_commits_of_many_threads_leave_one_of_them(log: Log) -> None:
    cursor = log.cursor("billing")
    threads = [threading.Thread(target=cursor.commit, args=(offset,)) for offset in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    committed = CommittedPosition.read(log.directory / "billing.cursor")
    assert committed is not None
    assert committed.offset in range(20)
    assert sorted(path.name for path in log.directory.glob("*.tmp")) == []


def test_a_forked_process_commits_nothing(log: Log) -> None:
    cursor = log.cursor("billing")
    assert exit_status_of(lambda: cursor.commit(3), refused=LogClosedError, seconds=20) == 7
    assert log.cursor_names == []


@pytest.mark.parametrize("beside_steps", [True, False])
def test_an_interrupted_commit_was_made_or_not(tmp_path: Path, beside_steps: bool) -> None:
    interrupter = Interrupter()

    def interrupted() -> None:
        raise Interruption

    with Log.open(tmp_path / "t-0", LogConfig(), filesystem=InterruptedDisk(interrupter)) as log:
        cursor = log.cursor("billing")
        at, place, before = 0, "somewhere", 0
        while place:
            write(log, 1)
            within = interrupter.beside_steps if beside_steps else interrupter.between_bytecodes
            with suppress(Interruption), within(at, interrupted):
                cursor.commit(log.log_end_offset)
            place = interrupter.place
            if log.failure is not None:
                break
            kept = CommittedPosition.read(log.directory / "billing.cursor")
            assert kept is None or kept.offset in {before, log.log_end_offset}, place
            assert kept is None or kept.offset <= log.recovery_point
            before = 0 if kept is None else kept.offset
            cursor.commit()
            before = cursor.position
            at += 1 if beside_steps else 13
        assert at > 10
    assert log.failure is None


# --- truncations


def test_a_truncation_below_it_is_told_at_each_use_until_somebody_seeks(log: Log) -> None:
    cursor = log.cursor("billing")
    cursor.seek(10)
    cursor.commit()
    log.truncate_to(6)
    write(log, 20)
    for use in (cursor.commit, lambda: list(cursor), cursor.tail):
        with pytest.raises(LogTruncatedError, match=r"cursor\.seek\(6\)") as told:
            use()
        assert told.value.offset == 6
    cursor.seek(6)
    assert next(iter(cursor)).offset == 6
    assert cursor.commit() == 7


def test_a_truncation_is_told_by_the_epochs_when_it_is_opened(log: Log) -> None:
    write(log, 5, epoch=1)
    log.cursor("billing").commit(23)
    log.close()
    with Log.open(log.directory, CONFIG) as other:
        other.truncate_to(18)
        write(other, 20, epoch=2)
    with Log.open(log.directory, CONFIG) as again:
        cursor = again.cursor("billing")
        assert cursor.position == 23
        with pytest.raises(LogTruncatedError) as told:
            list(cursor)
        assert told.value.offset == 18
        cursor.seek(18)
        assert len(list(cursor)) == 20


def test_records_deleted_below_it_are_told(log: Log) -> None:
    cursor = log.cursor("billing")
    cursor.commit(2)
    log.update_high_watermark(20)
    log.delete_records(9)
    with pytest.raises(OffsetOutOfRangeError, match="9 to 19, and not 0"):
        list(cursor)


EPOCHS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=6)
"""Who led, and for how many records."""


def led(runs: list[tuple[int, int]]) -> list[int]:
    """The epoch of each record, as epochs never fall."""
    epoch, epochs = 0, []
    for step, records in runs:
        epoch += step
        epochs += [epoch] * records
    return epochs


def history_of(epochs: list[int]) -> EpochHistory:
    return EpochHistory.from_batches((epoch, offset) for offset, epoch in enumerate(epochs))


@settings(max_examples=500)
@given(EPOCHS, st.data())
def test_the_place_where_histories_diverge_is_found(runs: list[tuple[int, int]], data: st.DataObject) -> None:
    """Leaders of other epochs write after the cut: then it is the cut, or what is known of it is not too high."""
    before = led(runs)
    offset = data.draw(st.integers(0, len(before)))
    cut = data.draw(st.integers(0, len(before)))
    first_new = before[-1] + 1
    after = before[:cut] + [first_new + epoch for epoch in led(data.draw(EPOCHS))]
    start = data.draw(st.integers(0, len(after)))
    told = CommittedPosition.at(offset, history_of(before)).divergence(
        history_of(after).truncate_from_start(start), start, len(after)
    )
    if offset <= max(cut, start):
        assert told is None
    else:
        assert told == max(cut, start)


@given(st.integers(0, 20), st.integers(0, 20))
def test_without_epochs_only_the_end_tells(offset: int, end: int) -> None:
    told = CommittedPosition.at(offset, EpochHistory()).divergence(EpochHistory(), 0, end)
    assert told == (end if end < offset else None)


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    position = CommittedPosition(3, 1_000, 2**62)
    (tmp_path / "a.cursor").write_bytes(position.encode())
    assert CommittedPosition.read(tmp_path / "a.cursor") == position
    rmtree(tmp_path)
    assert CommittedPosition.read(tmp_path / "a.cursor") is None
