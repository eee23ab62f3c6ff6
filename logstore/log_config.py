"""The configuration of one log: those of Kafka's topic settings that concern the log on disk."""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from epoch.base.renamed import warn_renamed
from logstore.arguments import ensure_bool, whole_number
from logstore.batch.batch_attributes import TimestampType
from logstore.text.brief_text import differing

MAX_INT32: Final = 2**31 - 1
MAX_INT64: Final = 2**63 - 1
DAY_MS: Final = 86_400_000

NO_LIMIT: Final = -1
RETENTION_MS: Final = 7 * DAY_MS
"""Kafka's default of `retention.ms`."""
DEDUPE_BUFFER_BYTES: Final = 128 << 20
"""Memory for the keys of one compaction: Kafka's default of `log.cleaner.dedupe.buffer.size`."""
POLL_SECONDS: Final = 0.05
"""How often the tails of a log that is only read look for more."""
SMALLEST_SEGMENT: Final = 14
SMALLEST_INDEX: Final = 4
"""Bytes; Kafka's own lower bounds."""

COMPRESSION_TYPES: Final = ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")
_UNCHANGED: Final = ("producer", "uncompressed")
CLEANUP_POLICIES: Final = frozenset({"delete", "compact"})
_TIMESTAMP_TYPES: Final = {"CreateTime": TimestampType.CREATE_TIME, "LogAppendTime": TimestampType.LOG_APPEND_TIME}
_BOOLEANS: Final = frozenset({"true", "false"})

_BOUNDS: Final = {
    "segment_bytes": (SMALLEST_SEGMENT, MAX_INT32),
    "segment_ms": (1, MAX_INT64),
    "segment_jitter_ms": (0, MAX_INT64),
    "segment_index_bytes": (SMALLEST_INDEX, MAX_INT32),
    "index_interval_bytes": (0, MAX_INT32),
    "max_message_bytes": (0, MAX_INT32),
    "retention_ms": (-1, MAX_INT64),
    "retention_bytes": (-1, MAX_INT64),
    "delete_retention_ms": (0, MAX_INT64),
    "min_compaction_lag_ms": (0, MAX_INT64),
    "max_compaction_lag_ms": (1, MAX_INT64),
    "file_delete_delay_ms": (0, MAX_INT64),
    "flush_messages": (1, MAX_INT64),
    "flush_ms": (0, MAX_INT64),
    "message_timestamp_before_max_ms": (0, MAX_INT64),
    "message_timestamp_after_max_ms": (0, MAX_INT64),
    "producer_id_expiration_ms": (1, MAX_INT32),
    "durable_linger_ms": (0, MAX_INT32),
    "durable_linger_bytes": (1, MAX_INT64),
    "compression_gzip_level": (-1, 9),
    "compression_zstd_level": (-(1 << 17), 22),
}

_LEADING_ZEROS: Final = r"(?<![0-9])0+(?=[0-9])"
"""Of very many digits Python makes no number."""

_OUR_OWN: Final = {"takes_lower_epochs", "durable_linger_ms", "durable_linger_bytes"}
"""No settings of Kafka's."""


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The configuration of a log: Kafka's topic settings, with underscores and Kafka's defaults (Kafka: LogConfig).

    Sizes are in bytes, times in milliseconds, -1 means no limit. Raises ValueError for values that Kafka refuses too,
    and TypeError for sizes and times that are not whole numbers.

    >>> LogConfig(segment_bytes=64 << 20, retention_ms=-1).segment_index_bytes
    10485760
    """

    segment_bytes: int = 1 << 30
    """A segment grows up to this size."""
    segment_ms: int = 7 * DAY_MS
    """A segment is rolled when its records span more than this time."""
    segment_jitter_ms: int = 0
    """At most this is subtracted from `segment_ms`, at random, so that many logs do not roll at once."""
    segment_index_bytes: int = 10 << 20
    """An index grows up to this size; a segment whose index is full is rolled. Nothing is preallocated."""
    index_interval_bytes: int = 4096
    """More than this many bytes lie between two index entries."""
    max_message_bytes: int = 1_048_588
    """The largest batch, compressed, that a leader accepts."""
    retention_ms: int | None = None
    """Segments whose records are all older may be deleted. None: not set, which is Kafka's default of 7 days where
    other nodes have copies of the log, and otherwise for ever, or what `Log.open` was given as `keep`."""
    retention_bytes: int = -1
    delete_retention_ms: int = DAY_MS
    """Compaction keeps tombstones and transaction markers for this time after it first comes across them."""
    min_compaction_lag_ms: int = 0
    """Segments with records of this last time are not compacted."""
    max_compaction_lag_ms: int = MAX_INT64
    """A segment with records is rolled after this time at the latest, and due for compaction."""
    min_cleanable_dirty_ratio: float = 0.5
    """A `LogDirectory` compacts a log once this share of it was appended since it was last compacted."""
    file_delete_delay_ms: int = 60_000
    """Deleted segments are renamed at once, and removed after this time."""
    flush_messages: int = MAX_INT64
    """Flush after this many records; by default the operating system decides, as in Kafka."""
    flush_ms: int = MAX_INT64
    """Flush after this time, in a `LogDirectory`; a log that stands alone refuses it."""
    message_timestamp_type: TimestampType = TimestampType.CREATE_TIME
    message_timestamp_before_max_ms: int = MAX_INT64
    message_timestamp_after_max_ms: int = 3_600_000
    compression_type: str = "producer"
    """`producer` keeps the producer's codec; otherwise `uncompressed`, `gzip`, `snappy`, `lz4` or `zstd`."""
    compression_gzip_level: int = -1
    """Of what the leader compresses, since `compression_type` names another codec than the producer's; -1: zlib's."""
    compression_zstd_level: int = 3
    cleanup_policy: AbstractSet[str] = frozenset({"delete"})
    """`delete`, `compact`, or both; kept as a frozenset, whatever set is given."""
    producer_id_expiration_ms: int = DAY_MS
    """A broker's setting in Kafka: how long an idle producer is remembered."""
    takes_lower_epochs: bool = False
    """Allow a leader to write in a lower epoch, which removes the higher ones, as in Kafka's UnifiedLog.

    Not a setting of Kafka's: its brokers refuse leaders of an older epoch before they reach the log.
    """
    durable_linger_ms: int = 0
    """So long an append with `durable=True` may wait for others to share its flush. Appends that are made while a flush
    is under way share the next one in any case. Not a setting of Kafka's, whose producers have `linger.ms`."""
    durable_linger_bytes: int = 1 << 20
    """So many bytes of them are flushed without waiting further."""
    remote_storage_enable: bool | None = None
    """Whether remote storage has what lies below the log's first segment (KIP-405). Where it has, or may have, start
    and leader epochs stay, and of a log that has it nothing is deleted by age or size. None: nobody says it."""

    def __repr__(self) -> str:
        return differing(self)

    def __post_init__(self) -> None:
        for name, (lowest, highest) in _BOUNDS.items():
            value = getattr(self, name)
            if value is None and name == "retention_ms":
                continue
            value = whole_number(value, name)
            if not lowest <= value <= highest:
                raise ValueError(f"{name} is {value:,}, and must be between {lowest:,} and {highest:,}")
        ensure_bool(self.takes_lower_epochs, "takes_lower_epochs")
        if self.remote_storage_enable is not None:
            ensure_bool(self.remote_storage_enable, "remote_storage_enable")
        if self.compression_gzip_level == 0:
            raise ValueError("compression_gzip_level is 0, and must be from 1 to 9, or -1 for the default")
        if not 0 <= self.min_cleanable_dirty_ratio <= 1:
            raise ValueError(f"min_cleanable_dirty_ratio is {self.min_cleanable_dirty_ratio}, and must be from 0 to 1")
        if self.is_compacted and self.min_compaction_lag_ms > self.max_compaction_lag_ms:
            raise ValueError(
                f"min_compaction_lag_ms is {self.min_compaction_lag_ms:,}, and must not be larger than "
                f"max_compaction_lag_ms, {self.max_compaction_lag_ms:,}"
            )
        if self.compression_type not in COMPRESSION_TYPES:
            raise ValueError(f"compression_type is {self.compression_type!r}, and none of {COMPRESSION_TYPES}")
        if not CLEANUP_POLICIES.issuperset(self.cleanup_policy):
            raise ValueError(f"cleanup_policy is {self.cleanup_policy!r}, and must be a set of {set(CLEANUP_POLICIES)}")
        object.__setattr__(self, "cleanup_policy", frozenset(self.cleanup_policy))

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Self:
        """Read Kafka's own spelling, dots and text; other names are ignored.

        >>> LogConfig.of({"segment.bytes": "1048576", "cleanup.policy": "compact,delete"}).segment_bytes
        1048576
        """
        given = {name.replace(".", "_"): text for name, text in properties.items()}
        names = given.keys() & {field.name for field in fields(cls)} - _OUR_OWN
        return cls(**{name: _parse(name, given[name]) for name in names})

    @property
    def is_deleted_by_retention(self) -> bool:
        """Whether retention by time and size applies."""
        return "delete" in self.cleanup_policy

    @property
    def is_compacted(self) -> bool:
        """Whether only the latest record of each key is kept, by `Log.compact`."""
        return "compact" in self.cleanup_policy

    @property
    def longest_segment_ms(self) -> int:
        """A segment is rolled when its records span more than this time (Kafka: segmentMs, maxSegmentMs)."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.is_compacted else self.segment_ms

    @property
    def compression_level(self) -> int | None:
        """At which a leader compresses; None: at the codec's default, as where the codec is the producer's."""
        levels = {"gzip": self.compression_gzip_level, "zstd": self.compression_zstd_level}
        return levels.get(self.compression_type)

    @property
    def accepts_unchanged(self) -> bool:
        """Whether a leader changes no more of an uncompressed batch than offset and epoch, and asks for no keys."""
        return (
            self.compression_type in _UNCHANGED
            and self.message_timestamp_type is TimestampType.CREATE_TIME
            and not self.is_compacted
        )

    @property
    def takes_as_sent(self) -> bool:
        """Deprecated: `accepts_unchanged`."""
        warn_renamed("LogConfig.takes_as_sent", "accepts_unchanged")
        return self.accepts_unchanged


def _parse(name: str, given: str) -> Any:
    text = given.strip()  # as Kafka does, which stores them untouched
    if name in _BOUNDS:
        return int(re.sub(_LEADING_ZEROS, "", text, count=1))
    if name == "remote_storage_enable":
        if text.lower() not in _BOOLEANS:
            raise ValueError(f"remote_storage_enable is {text!r}, and neither true nor false")
        return text.lower() == "true"
    if name == "min_cleanable_dirty_ratio":
        return float(text)
    if name == "message_timestamp_type":
        if text not in _TIMESTAMP_TYPES:
            raise ValueError(f"message_timestamp_type is {text!r}, and none of {tuple(_TIMESTAMP_TYPES)}")
        return _TIMESTAMP_TYPES[text]
    if name == "cleanup_policy":
        return frozenset(part.strip() for part in text.split(",") if part.strip())
    return text
