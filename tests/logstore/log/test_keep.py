"""How long a log keeps its records: the only copy loses none by age unless somebody has said so."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from logstore import Log, LogConfig, LogDirectory, Record, TopicPartition
from logstore.log_config import DAY_MS

CONFIG: dict[str, Any] = {"segment_bytes": 300, "segment_ms": 2**60, "file_delete_delay_ms": 0}
OLD = 1_000
"""A record's time: imported records come with such."""
NOW = OLD + 365 * DAY_MS


def filled(directory: Path, config: LogConfig, **options: Any) -> Log:
    """Return a log that has old records in several segments, all committed."""
    log = Log.open(directory, config, clock=lambda: NOW, **options)
    while len(log.segments) < 4:
        log.append([Record.of(b"x" * 50, timestamp=OLD)])
    log.advance_high_watermark(log.log_end_offset)
    return log


def deleted(tmp_path: Path, config: LogConfig, **options: Any) -> int:
    with filled(tmp_path / "t-0", config, **options) as log:
        return log.delete_old_segments()


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
            log.append([Record.of(b"x" * 50, timestamp=OLD)])
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
