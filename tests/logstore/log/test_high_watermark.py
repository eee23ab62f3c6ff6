"""A leader's high watermark never goes back; a follower's may."""

from pathlib import Path

import pytest

from logstore import Isolation, Log, LogConfig, LogDirectory, OffsetOutOfRangeError, TopicPartition


def test_it_advances_and_never_goes_back(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append([b"a", b"b", b"c"])
        assert [log.advance_high_watermark(offset) for offset in (2, 1, 9, 0)] == [2, 2, 3, 3]
        assert log.high_watermark == 3


def test_it_is_set_back_where_that_is_said(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append([b"a", b"b", b"c"])
        assert [log.update_high_watermark(offset) for offset in (3, 1)] == [3, 1]


def test_a_truncation_takes_it_along(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append([b"a", b"b"])
        log.advance_high_watermark(2)
        log.truncate_to(0)
        log.append([b"c"])
        assert log.high_watermark == 0
        assert log.advance_high_watermark(1) == 1


class TestOfTheOnlyCopy:
    """Nobody else has the records: what is on stable storage is committed."""

    def test_it_follows_the_flushed_end(self, tmp_path: Path) -> None:
        with Log.open(tmp_path / "t-0") as log:
            log.append([b"a", b"b"])
            assert log.high_watermark == 0
            log.flush()
            assert log.high_watermark == 2
            log.append([b"c"], durable=True).result()
            assert log.high_watermark == 3

    def test_who_deletes_above_it_is_told_to_flush(self, tmp_path: Path) -> None:
        with Log.open(tmp_path / "t-0") as log:
            log.append([b"a", b"b"])
            with pytest.raises(OffsetOutOfRangeError, match="flush the log first"):
                log.delete_records(1)
            log.flush()
            assert log.delete_records(1)
            with pytest.raises(OffsetOutOfRangeError, match="wait until the high watermark"):
                log.delete_records(9)

    def test_a_roll_takes_it_along(self, tmp_path: Path) -> None:
        with Log.open(tmp_path / "t-0", LogConfig(segment_bytes=200)) as log:
            while len(log.segments) < 3:
                log.append([b"x" * 50])
            assert log.high_watermark == log.recovery_point == log.segments[-1].base_offset > 0

    def test_who_waits_for_it_wakes(self, tmp_path: Path) -> None:
        with Log.open(tmp_path / "t-0") as log:
            log.append([b"a"])
            tail = log.tail(0, isolation=Isolation.HIGH_WATERMARK)
            log.flush()
            assert next(iter(tail)).value == b"a"

    def test_it_begins_where_a_log_was_closed(self, tmp_path: Path) -> None:
        with Log.open(tmp_path / "t-0") as log:
            log.append([b"a", b"b"])
        with Log.open(tmp_path / "t-0") as log:
            assert log.high_watermark == 2

    def test_after_a_crash_it_begins_at_what_is_known_to_be_flushed(self, tmp_path: Path) -> None:
        log = Log.open(tmp_path / "t-0")
        log.append([b"a", b"b"])
        log.flush()
        log.append([b"c"])
        log.abandon()
        with Log.open(tmp_path / "t-0") as log:
            assert (log.high_watermark, log.log_end_offset) == (2, 3)

    def test_who_moves_it_is_not_overruled(self, tmp_path: Path) -> None:
        for move in (Log.update_high_watermark, Log.advance_high_watermark):
            with Log.open(tmp_path / f"{move.__name__}-0") as log:
                log.append([b"a", b"b", b"c"])
                assert move(log, 1) == 1
                log.flush()
                assert log.high_watermark == 1

    def test_that_of_a_log_that_follows_a_leader_is_left_to_it(self, tmp_path: Path) -> None:
        with Log.open(tmp_path / "leader-0") as leader, Log.open(tmp_path / "t-0") as log:
            leader.append([b"a", b"b", b"c"])
            log.append_batches(leader.read(0, 1_000).data)
            log.flush()
            assert log.high_watermark == 0
            log.update_high_watermark(2)
        with Log.open(tmp_path / "t-0") as log:
            log.flush()
            assert (log.high_watermark, log.recovery_point) == (2, 3)

    def test_nor_where_the_log_is_recovered(self, tmp_path: Path) -> None:
        log = Log.open(tmp_path / "t-0")
        log.append([b"a", b"b", b"c"])
        log.update_high_watermark(1)
        log.flush()
        log = log.recover()
        log.flush()
        assert log.high_watermark == 1
        log.close()

    def test_a_directory_of_only_copies_is_the_same(self, tmp_path: Path) -> None:
        with LogDirectory.open(tmp_path / "data") as directory:
            log = directory.create(TopicPartition("t", 0))
            log.append([b"a"])
            log.flush()
            assert log.high_watermark == 1

    def test_that_of_a_replica_waits_for_its_leader(self, tmp_path: Path) -> None:
        with Log.open(tmp_path / "t-0", replicated=True) as log:
            log.append([b"a"], leader_epoch=0)
            log.flush()
            assert log.high_watermark == 0
        with Log.open(tmp_path / "t-0", replicated=True) as log:
            assert log.high_watermark == 0
