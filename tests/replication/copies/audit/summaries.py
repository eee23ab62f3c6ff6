"""Summaries of copies that a test describes by what matters to it."""

from typing import Any

from epoch import EpochEntry
from epoch.history import MAX_OFFSET
from logstore.topic_partition import TopicPartition
from replication.copies.audit.comparison.comparison import Comparison, Fork
from replication.copies.audit.copy_summary import CopySummary, OffsetRange

T0 = TopicPartition("t", 0)


def summary(replica: str, **known: Any) -> CopySummary:
    """A sound copy with offsets 0 to 99, written under epoch 0 and stopped in order."""
    fields: dict[str, Any] = {
        "replica": replica,
        "topic": T0.topic,
        "partition": T0.partition,
        "topic_id": "id",
        "clean_shutdown": True,
        "log_start_offset": 0,
        "log_end_offset": 100,
        "readable_end_offset": 100,
        "high_watermark": 100,
        "checkpointed_high_watermark": 100,
        "recovery_point": 100,
        "cleaner_offset": None,
        "cleaned_to": 0,
        "recorded_start": None,
        "history": (EpochEntry(0, 0),),
        "lineage": (EpochEntry(0, 0),),
        "checkpointed_epochs": (),
        "misfit_epochs": (),
        "corrupt": (),
        "gaps": (OffsetRange(100, MAX_OFFSET),),
        "segments": (),
        "kept_segments": 0,
        "valid_bytes": 0,
        "damage": None,
        "log_errors": 0,
        "errors": 0,
        "unread": 0,
        "unread_files": (),
        "high_watermark_unread": False,
        "batches": 0,
        "records": 0,
        "log_bytes": 0,
        "open_transactions": (),
        "last_markers": (),
        "producers": (),
    }
    fields |= {
        "is_stray": False,
        "begins_at": known.get("log_start_offset", 0),
        "is_dropped": known.get("is_dropped", False),
    }
    return CopySummary(**{**fields, **known})


def forked(left: str, right: str, offset: int) -> Comparison:
    """Two copies that part at an offset."""
    return Comparison(left, right, offset, Fork(offset, 1, 2, None, None), (), (), (), False, 1, 1, 2, 200)
