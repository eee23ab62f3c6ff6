"""The columns of the audit's tables and of logs as tables, as Arrow has them."""

from typing import Final

import pyarrow as pa

Columns = dict[str, pa.DataType]

_BYTE, _SHORT, _INT, _LONG = pa.int8(), pa.int16(), pa.int32(), pa.int64()
_TEXT, _BYTES, _FLAG = pa.string(), pa.binary(), pa.bool_()
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
"""Spark's TIMESTAMP."""
MOST_MILLISECONDS: Final = (2**63 - 1) // 1_000
"""From here on, before and after 1970, a TIMESTAMP cannot be."""
_TEXTS: Final = pa.list_(_TEXT)
_COPY: Final = {"replica": _TEXT, "topic": _TEXT, "partition": _INT}


def _rows_of(columns: Columns) -> pa.DataType:
    return pa.list_(pa.struct(columns))


BATCHES: Final[Columns] = {
    **_COPY,
    "segment": _LONG,
    "file": _TEXT,
    "position": _LONG,
    "size": _LONG,
    "base_offset": _LONG,
    "last_offset": _LONG,
    "leader_epoch": _INT,
    "magic": _BYTE,
    "attributes": _SHORT,
    "codec": _TEXT,
    "is_transactional": _FLAG,
    "is_control": _FLAG,
    "base_timestamp": _LONG,
    "max_timestamp": _LONG,
    "producer_id": _LONG,
    "producer_epoch": _SHORT,
    "base_sequence": _INT,
    "record_count": _INT,
    "crc": _LONG,
    "crc_valid": _FLAG,
    "corrupt": _TEXT,
}
"""One row a batch: its header. Timestamps are milliseconds since 1970 UTC; `segment` is the segment's base offset."""
RECORDS: Final[Columns] = {
    "key": _BYTES,
    "value": _BYTES,
    "topic": _TEXT,
    "partition": _INT,
    "offset": _LONG,
    "timestamp": TIMESTAMP,
    "timestampType": _INT,
    "headers": _rows_of({"key": _TEXT, "value": _BYTES}),
    "replica": _TEXT,
    "leader_epoch": _INT,
    "producer_id": _LONG,
    "producer_epoch": _SHORT,
    "sequence": _INT,
    "is_transactional": _FLAG,
    "is_control": _FLAG,
    "is_aborted": _FLAG,
    "base_offset": _LONG,
    "segment": _LONG,
    "position": _LONG,
    "timestamp_ms": _LONG,
    "corrupt": _TEXT,
}
"""One row a record. The first eight columns are those of Spark's own source of Kafka; `base_offset` and `position` are
the batch's."""
SEGMENTS: Final[Columns] = {
    **_COPY,
    "base_offset": _LONG,
    "file": _TEXT,
    "bytes": _LONG,
    "batches": _LONG,
    "records": _LONG,
    "first_offset": _LONG,
    "last_offset": _LONG,
    "min_timestamp": _LONG,
    "max_timestamp": _LONG,
    "corrupt_batches": _LONG,
}
AUDITED_SEGMENTS: Final[Columns] = {**SEGMENTS, "read_at": TIMESTAMP}
"""`read_at` is when a segment's bytes were read: before the audit, where they were kept and it is unchanged since."""
EPOCHS: Final[Columns] = {
    **_COPY,
    "epoch": _INT,
    "checkpoint_start_offset": _LONG,
    "first_offset": _LONG,
    "last_offset": _LONG,
    "batches": _LONG,
}
FINDINGS: Final[Columns] = {
    "replica": _TEXT,
    "kind": _TEXT,
    "severity": _TEXT,
    "topic": _TEXT,
    "partition": _INT,
    "file": _TEXT,
    "position": _LONG,
    "offset": _LONG,
    "message": _TEXT,
}
_RECORDS: Final[Columns] = {
    "records": _LONG,
    "control_records": _LONG,
    "first_offset": _LONG,
    "last_offset": _LONG,
    "epochs": pa.list_(_INT),
    "min_timestamp": _LONG,
    "max_timestamp": _LONG,
}
_NUMBERS: Final = pa.list_(_INT)
_FORESEEN: Final[Columns] = {
    "leader": _INT,
    "replica": _TEXT,
    "reason": _TEXT,
    "epochs": _NUMBERS,
    "isr": _NUMBERS,
    "elr": _NUMBERS,
    "unclean": _FLAG,
}
_STARTS: Final = _rows_of({"started": _NUMBERS, "elections": _rows_of(_FORESEEN)})
_ELECTION: Final[Columns] = {
    "why_unknown": _TEXT,
    "metadata_of": _TEXT,
    "is_complete": _FLAG,
    "together": _rows_of(_FORESEEN),
    "orders": _STARTS,
    "forced": _STARTS,
    "absent": _NUMBERS,
    "voters": _NUMBERS,
    "unclean_allowed": _FLAG,
    "min_isr": _INT,
    "has_elr": _FLAG,
    "leader": _INT,
    "leader_epoch": _INT,
    "replicas": _NUMBERS,
    "isr": _NUMBERS,
    "elr": _NUMBERS,
    "last_known_elr": _NUMBERS,
    "is_recovering": _FLAG,
}
_CANDIDATES: Final = _rows_of(
    {
        "replica": _TEXT,
        "last_epoch": _INT,
        "log_end_offset": _LONG,
        "damage": _TEXT,
        "lost": pa.struct(_RECORDS),
        "acknowledged": pa.struct(_RECORDS),
        "maybe_acknowledged": pa.struct(_RECORDS),
        "acknowledged_at_most": _LONG,
    }
)
PARTITIONS: Final[Columns] = {
    "topic": _TEXT,
    "partition": _INT,
    "verdict": _TEXT,
    "verdicts": _TEXTS,
    "recommended": _TEXT,
    "kafkas_choice": _TEXT,
    "latest_and_longest": _TEXT,
    "least_loss": _TEXT,
    "choices_differ": _FLAG,
    "election": pa.struct(_ELECTION),
    "candidates": _CANDIDATES,
    "without_copy": _CANDIDATES,
    "pairs": _rows_of(
        {
            "leader": _TEXT,
            "follower": _TEXT,
            "relation": _TEXT,
            "truncate_to": _LONG,
            "records_lost": _LONG,
            "bytes_lost": _LONG,
            "verdict": _TEXT,
            "verdicts": _TEXTS,
            "first_difference": _LONG,
        }
    ),
    "branches": _rows_of(
        {
            "replica": _TEXT,
            "directory": _TEXT,
            "log_start_offset": _LONG,
            "log_end_offset": _LONG,
            "high_watermark": _LONG,
            "high_watermark_unread": _FLAG,
            "records": _LONG,
            "bytes": _LONG,
            "lineage": _rows_of({"epoch": _INT, "start_offset": _LONG}),
            "open_transactions": _rows_of({"producer_id": _LONG, "producer_epoch": _SHORT, "first_offset": _LONG}),
        }
    ),
    "forks": _rows_of(
        {
            "left": _TEXT,
            "right": _TEXT,
            "offset": _LONG,
            "left_epoch": _INT,
            "right_epoch": _INT,
            "left_timestamp": _LONG,
            "right_timestamp": _LONG,
        }
    ),
    "missing": _TEXTS,
    "unread": _TEXTS,
    "topic_id": _TEXT,
}
"""One row a partition: what `epochlog audit --json` prints of it."""
_HELD: Final[Columns] = {"leader_epoch": _INT, "timestamp": TIMESTAMP, "key": _BYTES, "value": _BYTES}
DIFFERENCES: Final[Columns] = {
    "topic": _TEXT,
    "partition": _INT,
    "offset": _LONG,
    "kind": _TEXT,
    "left": _TEXT,
    "right": _TEXT,
    **{f"{side}_{name}": kind for side in ("left", "right") for name, kind in _HELD.items()},
}
"""One row a record on which two replicas' copies disagree; a side without it has null in its four columns."""
_COPY_BYTES: Final[Columns] = {"copy": _TEXT, "summary": _BYTES, "digests": _BYTES}
DISAGREEMENTS: Final[Columns] = {
    "topic": _TEXT,
    "partition": _INT,
    "kind": _TEXT,
    "first": _LONG,
    "last": _LONG,
    **{f"{side}_{name}": kind for side in ("left", "right") for name, kind in _COPY_BYTES.items()},
}
"""One row for each stretch of offsets on which two copies disagree."""
EXAMINED: Final[Columns] = {
    **_COPY,
    "root": _TEXT,
    "copy": _TEXT,
    "is_part": _FLAG,
    "summary": _BYTES,
    "digests": _BYTES,
    "piece": _BYTES,
    "findings": _rows_of(FINDINGS),
    "segments": _rows_of(AUDITED_SEGMENTS),
    "epochs": _rows_of(EPOCHS),
    "bytes_read": _LONG,
    "oldest_read": _LONG,
}
"""One row a copy, or a part of one, or a root (without a topic); no digests where it could not be read."""
RUN: Final[Columns] = {"run_id": _TEXT, "run_at": TIMESTAMP}
"""Which audit a row is of: the last two columns of each table."""
JUDGED: Final[Columns] = {**PARTITIONS, "findings": _rows_of(FINDINGS)}
EXPLAINED: Final[Columns] = {
    "topic": _TEXT,
    "partition": _INT,
    "explained": _TEXT,
    "first_offset": _LONG,
    "last_offset": _LONG,
    "why": _TEXT,
    "is_unexpected": _FLAG,
    "leader_epoch": _INT,
    "copy": _TEXT,
    "file": _TEXT,
    "position": _LONG,
    "evidence": _TEXT,
    "error": _TEXT,
}
"""One row for each range of offsets of which the same became; one with only an error where a partition has none."""
RECONCILED: Final[Columns] = {
    "topic": _TEXT,
    "partition": _INT,
    "explained": _TEXT,
    "window": TIMESTAMP,
    "first_offset": _LONG,
    "last_offset": _LONG,
    "status": _TEXT,
    "copies": _LONG,
    "is_finding": _FLAG,
    "is_doubtful": _FLAG,
    "leader_epoch": _INT,
    "cut_by_epoch": _INT,
    "copy": _TEXT,
    "file": _TEXT,
    "position": _LONG,
    "evidence": _TEXT,
    "error": _TEXT,
}
"""One row for each range of offsets that are alike, of a log held against a table; one with only an error as above."""
