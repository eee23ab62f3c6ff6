"""What a log may be told to do, in Kafka's names."""

from typing import Any

import pytest

from logstore.batch.batch_attributes import TimestampType
from logstore.log_config import MAX_INT32, MAX_INT64, LogConfig

BOUNDS = {
    "segment_bytes": (14, MAX_INT32),
    "segment_ms": (1, MAX_INT64),
    "segment_index_bytes": (4, MAX_INT32),
    "index_interval_bytes": (0, MAX_INT32),
    "max_message_bytes": (0, MAX_INT32),
    "retention_ms": (-1, MAX_INT64),
    "retention_bytes": (-1, MAX_INT64),
    "file_delete_delay_ms": (0, MAX_INT64),
    "flush_messages": (1, MAX_INT64),
    "flush_ms": (0, MAX_INT64),
    "message_timestamp_before_max_ms": (0, MAX_INT64),
    "message_timestamp_after_max_ms": (0, MAX_INT64),
    "producer_id_expiration_ms": (1, MAX_INT32),
    "compression_gzip_level": (-1, 9),
    "compression_zstd_level": (-(1 << 17), 22),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_numbers_lie_within_kafkas_bounds(name: str) -> None:
    lowest, highest = BOUNDS[name]
    for value in (lowest, highest):
        allowed: dict[str, Any] = {name: value}
        assert getattr(LogConfig(**allowed), name) == value
    for value in (lowest - 1, highest + 1):
        refused: dict[str, Any] = {name: value}
        with pytest.raises(ValueError, match=f"{name} is {value:,}, and must be between"):
            LogConfig(**refused)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("compression_type", "lzma"),
        ("compression_gzip_level", 0),
        ("cleanup_policy", frozenset({"shrink"})),
        ("cleanup_policy", "compact,delete"),
        ("cleanup_policy", "delete"),
    ],
)
def test_what_is_no_choice_is_named(name: str, value: Any) -> None:
    chosen: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=name):
        LogConfig(**chosen)


def test_kafkas_own_spelling_is_read() -> None:
    config = LogConfig.of(
        {
            "segment.bytes": "1048576",
            "cleanup.policy": "compact, delete",
            "message.timestamp.type": "LogAppendTime",
            "compression.type": "zstd",
            "min.insync.replicas": "2",
        }
    )
    assert config == LogConfig(
        segment_bytes=1 << 20,
        cleanup_policy=frozenset({"compact", "delete"}),
        message_timestamp_type=TimestampType.LOG_APPEND_TIME,
        compression_type="zstd",
    )


@pytest.mark.parametrize(
    ("name", "text"), [("segment.bytes", "1 MiB"), ("message.timestamp.type", "Now"), ("cleanup.policy", "shrink")]
)
def test_a_text_that_kafka_would_refuse_is_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        LogConfig.of({name: text})


def test_any_set_is_a_cleanup_policy_and_later_changes_of_it_are_not_seen() -> None:
    given = {"compact"}
    config = LogConfig(cleanup_policy=given)
    given.add("delete")
    assert config.is_compacted
    assert not config.is_deleted_by_retention
    assert config == LogConfig(cleanup_policy=frozenset({"compact"}))
    assert hash(config) == hash(LogConfig(cleanup_policy=frozenset({"compact"})))
