"""How long a log keeps its records: the only copy loses none by age unless somebody has said so."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from logstore import (
    BatchTemplate,
    ClockDoubt,
    DirectorySettings,
    Log,
    LogConfig,
    LogDirectory,
    LogObserver,
    Record,
    TopicPartition,
    WatchedClock,
    clock,
)
from logstore.log_config import DAY_MS
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import verify_partition

CONFIG: dict[str, Any] = {"segment_bytes": 300, "segment_ms": 2**60, "file_delete_delay_ms": 0}
OLD = 1_000
"""A record's time: imported records come with such."""
NOW = OLD + 365 * DAY_MS


def filled(directory: Path, config: LogConfig, **options: Any) -> Log:
    """Return a log that has old records in several segments, all committed."""
    log = Log.open(directory, config, clock=lambda: NOW, **options)
    while len(log.segments) < 4:
        log.append([Record.of(b"x" * 50, timestamp=OLD)], leader_epoch=0)
    log.advance_high_watermark(log.log_end_offset)
    return log


def deleted(tmp_path: Path, config: LogConfig, **options: Any) -> int:
    with filled(tmp_path / "t-0", config, **options) as log:
        return log.delete_old_segments()


@pytest.mark.parametrize("replicated", [False, True])
def test_what_is_deleted_by_one_that_is_killed_is_not_missing(tmp_path: Path, *, replicated: bool) -> None:
    log = filled(tmp_path / "t-0", LogConfig(**CONFIG, retention_bytes=0), replicated=replicated)
    assert log.delete_old_segments() > 0
    log.abandon()
    assert [each.kind for each in verify_partition(PartitionDirectory.open(tmp_path / "t-0"))] == []


def test_for_ever_by_default(tmp_path: Path) -> None:
    assert deleted(tmp_path, LogConfig(**CONFIG)) == 0


def test_for_ever_where_that_is_said(tmp_path: Path) -> None:
    assert deleted(tmp_path, LogConfig(**CONFIG), keep="forever", replicated=True) == 0


@pytest.mark.parametrize("keep", [timedelta(days=7), 7 * DAY_MS, 0])
def test_as_long_as_is_said(tmp_path: Path, keep: timedelta | int) -> None:
    assert deleted(tmp_path, LogConfig(**CONFIG), keep=keep) == 4


def test_no_shorter_than_is_said(tmp_path: Path) -> None:
    assert deleted(tmp_path, LogConfig(**CONFIG), keep=timedelta(days=366)) == 0


@pytest.mark.parametrize("keep", [None, "forever", timedelta(days=366)])
def test_the_configuration_wins(tmp_path: Path, keep: Any) -> None:
    assert deleted(tmp_path, LogConfig(retention_ms=DAY_MS, **CONFIG), keep=keep) == 4


def test_the_configuration_wins_with_no_limit_too(tmp_path: Path) -> None:
    assert deleted(tmp_path, LogConfig(retention_ms=-1, **CONFIG), keep=timedelta(0)) == 0


def test_kafkas_default_is_that_of_replicas(tmp_path: Path) -> None:
    assert deleted(tmp_path, LogConfig(**CONFIG), replicated=True) == 4


@pytest.mark.parametrize("replicated", [False, True])
def test_a_directory_keeps_as_its_logs_would_alone(tmp_path: Path, *, replicated: bool) -> None:
    with LogDirectory.open(
        tmp_path / "data", LogConfig(**CONFIG), replicated=replicated, clock=lambda: NOW
    ) as directory:
        log = directory.create(TopicPartition("t", 0))
        while len(log.segments) < 4:
            log.append([Record.of(b"x" * 50, timestamp=OLD)], leader_epoch=0)
        log.advance_high_watermark(log.log_end_offset)
        assert log.delete_old_segments() == (4 if replicated else 0)


def test_by_size_it_is_as_configured(tmp_path: Path) -> None:
    assert deleted(tmp_path, LogConfig(retention_bytes=0, **CONFIG)) == 4


def test_what_is_recovered_is_kept_as_before(tmp_path: Path) -> None:
    log = filled(tmp_path / "t-0", LogConfig(**CONFIG), keep=timedelta(days=1)).recover()
    with log:
        assert log.delete_old_segments() > 0


@pytest.mark.parametrize("keep", [-2, timedelta(days=-1), 2**63])
def test_what_is_no_time_is_refused(tmp_path: Path, keep: Any) -> None:
    with pytest.raises(ValueError, match="keep is "):
        Log.open(tmp_path / "t-0", keep=keep)


@pytest.mark.parametrize("keep", ["always", 1.5, True])
def test_what_is_of_another_type_is_refused(tmp_path: Path, keep: Any) -> None:
    with pytest.raises(TypeError, match="keep is "):
        Log.open(tmp_path / "t-0", keep=keep)
    assert not (tmp_path / "t-0").exists()


class TestFlushMs:
    """Nothing runs beside a log that stands alone."""

    def test_it_is_refused_with_what_to_do_instead(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"flush_ms is 1,000.* no thread .*durable=True.*flush_messages"):
            Log.open(tmp_path / "t-0", LogConfig(flush_ms=1_000))
        assert not (tmp_path / "t-0").exists()

    def test_it_is_refused_later_too(self, tmp_path: Path) -> None:
        with Log.open(tmp_path / "t-0") as log:
            with pytest.raises(ValueError, match="flush_ms is 0"):
                log.config = LogConfig(flush_ms=0)
            assert log.config == LogConfig()


@dataclass
class MadeTime:
    """What the module `time` is to the clocks."""

    wall_ms: int = NOW
    steady_ms: int = 0

    def go(self, passed_ms: int, gained_ms: int = 0) -> None:
        self.wall_ms += passed_ms + gained_ms
        self.steady_ms += passed_ms

    def time_ns(self) -> int:
        return self.wall_ms * 1_000_000

    def monotonic_ns(self) -> int:
        return self.steady_ms * 1_000_000

    def clock_gettime_ns(self, _: int) -> int:
        return self.steady_ms * 1_000_000


class Heard(LogObserver):
    def __init__(self) -> None:
        self.doubts: list[str] = []

    def held_back(self, directory: Path, doubt: ClockDoubt, /) -> None:
        del directory
        self.doubts.append(str(doubt))


class TestByAClockThatJumps:
    """Nothing is deleted by age while the time is not trusted."""

    @pytest.fixture
    def time(self, monkeypatch: pytest.MonkeyPatch) -> MadeTime:
        time = MadeTime()
        monkeypatch.setattr("logstore.clock.time", time)
        monkeypatch.setattr("logstore.clock.CLOCK", WatchedClock())
        return time

    @pytest.fixture
    def heard(self) -> Heard:
        return Heard()

    @pytest.fixture
    def log(self, tmp_path: Path, time: MadeTime, heard: Heard) -> Iterator[Log]:
        with Log.open(tmp_path / "t-0", LogConfig(**CONFIG), keep=timedelta(days=7), observer=heard) as log:
            while len(log.segments) < 4:
                log.append([Record.of(b"x" * 50, timestamp=time.wall_ms)])
            log.flush()
            yield log

    def test_it_is_told_once_and_until_it_is_confirmed(self, log: Log, time: MadeTime, heard: Heard) -> None:
        time.go(1_000, 400 * DAY_MS)
        assert [log.delete_old_segments() for _ in range(3)] == [0, 0, 0]
        assert heard.doubts == ["the wall clock is 9,600.0 h ahead of the time that has passed"]
        clock.CLOCK.confirm()
        assert log.delete_old_segments() == 4

    def test_a_clock_that_is_set_right_deletes_nothing_then_either(self, log: Log, time: MadeTime) -> None:
        time.go(1_000, 400 * DAY_MS)
        assert log.delete_old_segments() == 0
        time.go(1_000, -400 * DAY_MS)
        assert log.delete_old_segments() == 0

    def test_by_size_and_below_the_start_is_deleted_all_the_same(self, log: Log, time: MadeTime) -> None:
        time.go(1_000, 400 * DAY_MS)
        log.delete_records(log.segments[1].base_offset)
        assert log.delete_old_segments() == 1
        log.config = LogConfig(retention_bytes=0, **CONFIG)
        assert log.delete_old_segments() == 3

    @pytest.mark.parametrize("lag_ms", [0, DAY_MS])
    def test_compaction_keeps_tombstones_and_what_is_too_new(self, tmp_path: Path, time: MadeTime, lag_ms: int) -> None:
        compacted = frozenset({"compact"})
        config = LogConfig(cleanup_policy=compacted, delete_retention_ms=DAY_MS, min_compaction_lag_ms=lag_ms, **CONFIG)

        def delete(key: bytes) -> None:
            log.append([Record.of(None, key, timestamp=time.wall_ms)])
            log.roll()
            log.advance_high_watermark(log.log_end_offset)

        def deleted() -> list[bytes | None]:
            log.compact()
            return [record.key for record in log.records()]

        with Log.open(tmp_path / "t-0", config) as log:
            delete(b"first")
            time.go(2 * DAY_MS)
            assert deleted() == [b"first"]  # from here on it waits
            delete(b"second")
            time.go(1_000, 400 * DAY_MS)
            assert deleted() == [b"first", b"second"]
            clock.CLOCK.confirm()
            delete(b"third")
            assert deleted() == [b"second", b"third"]

    def test_producers_are_known_as_long_as_before(self, tmp_path: Path, time: MadeTime) -> None:
        """Without what was known of one, what it sends again is there twice."""
        path, config, watched = tmp_path / "t-0", LogConfig(**CONFIG), WatchedClock()
        with Log.open(path, config, clock=watched) as log:
            template = BatchTemplate(producer_id=7, producer_epoch=0, base_sequence=0)
            log.append([Record.of(b"x", timestamp=time.wall_ms)], template=template)
            log.append([b"y"])
            time.go(1_000, 400 * DAY_MS)
            log.expire_producers()
            log.truncate_to(1)
            assert log.known_producer(7)
        unconfirmed = WatchedClock(is_confirmed=False)
        with Log.open(path, config, clock=unconfirmed) as log:
            assert log.known_producer(7)
            unconfirmed.confirm()
            log.expire_producers()
            assert not log.known_producer(7)

    def test_a_log_that_got_no_record_for_long_is_no_jump(self, log: Log, time: MadeTime) -> None:
        time.go(400 * DAY_MS)
        assert log.delete_old_segments() == 4

    def test_nor_is_one_that_was_closed_for_long(self, log: Log, time: MadeTime) -> None:
        log.close()
        time.go(1_000, 400 * DAY_MS)  # another process, and its clocks
        watched = WatchedClock()
        with Log.open(log.directory, LogConfig(**CONFIG), keep=timedelta(days=7), clock=watched) as again:
            assert again.delete_old_segments() == 4

    def test_how_far_it_may_go_ahead_is_a_setting(self, tmp_path: Path, time: MadeTime) -> None:
        settings = DirectorySettings(log_clock_jump_max_ms=60_000)
        with LogDirectory.open(tmp_path / "data", settings=settings) as directory:
            time.go(0, 60_000)
            assert directory.clock_doubt is None
            time.go(0, 1)
            assert directory.clock_doubt == ClockDoubt(60_001)

    def test_who_gives_a_clock_of_his_own_is_trusted(self, tmp_path: Path) -> None:
        with LogDirectory.open(tmp_path / "data", clock=lambda: NOW) as directory:
            assert directory.clock_doubt is None
