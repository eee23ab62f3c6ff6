"""Which rows are asked for: of which copies, segments, batches and records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from epoch.history import MAX_OFFSET
from logstore.batch.batch_attributes import TIMESTAMP_TYPE_BIT
from logstore.batch.columns import BatchColumns, RecordColumns
from replication.copies.audit.copy_summary import SegmentExtent
from replication.copies.audit.log_rows.conditions.condition import ALWAYS, AllOf, Condition, Known, Span
from replication.copies.audit.log_rows.conditions.key_condition import KEY
from replication.copies.audit.snapshots.work import Copy
from replication.copies.audit.tables import MOST_MILLISECONDS

EARLIEST_TIMESTAMP: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class Selection:
    """What fulfils the condition; the timestamps in it are milliseconds since 1970 UTC."""

    condition: Condition = ALWAYS

    def wants(self, copy: Copy) -> bool:
        """Return whether anything of a copy can be asked for."""
        return bool(self.condition.may_hold(_known_of(copy)))

    def of(self, copy: Copy) -> "Selection":
        """Return what is asked for of one copy."""
        return Selection(self.condition.given(_known_of(copy)))

    @property
    def first_offset(self) -> int:
        """The least offset that can be asked for."""
        return self.condition.limits("offset")[0] or 0

    @property
    def last_offset(self) -> int:
        """The greatest offset that can be asked for."""
        greatest = self.condition.limits("offset")[1]
        return MAX_OFFSET if greatest is None else greatest

    @property
    def first_timestamp(self) -> int | None:
        """The least timestamp that can be asked for; None where that is any."""
        least = self.condition.limits("timestamp")[0]
        return None if least is None or least <= -MOST_MILLISECONDS else least

    @property
    def has_bounds(self) -> bool:
        """Whether indexes can spare reading."""
        return self.first_offset > 0 or self.last_offset < MAX_OFFSET or self.first_timestamp is not None

    def segments(self, segments: Sequence[SegmentExtent]) -> Iterator[SegmentExtent]:
        """Leave out the segments in which, by their names, nothing is asked for."""
        first, last = self.first_offset, self.last_offset
        for number, segment in enumerate(segments, 1):
            # The first batches of the next segment begin at its name's offset, or beyond where the cleaner was at work.
            end = segments[number].base_offset - 1 if number < len(segments) else MAX_OFFSET
            if segment.size and segment.base_offset <= last and end >= first:
                yield segment

    def batches(self, columns: BatchColumns) -> BatchColumns:
        """Leave out the batches in which nothing can be asked for; of corrupt ones by their offsets alone."""
        if self.condition == ALWAYS:
            return columns
        offsets = {"offset": Span(columns.base_offset, columns.last_offset)}
        wanted = self.condition.may_hold({**offsets, **_known_of_batches(columns)})
        in_range = self.condition.may_hold(offsets)
        return columns.where(_as_mask(np.where(columns.crc_valid, wanted, in_range), len(columns)))

    def in_doubt(self, columns: BatchColumns) -> NDArray[np.int64]:
        """Return of which sound batches the header does not show whether a record in them is asked for.

        Of timestamps a header has the greatest alone, which one of the records has, and of keys nothing. Of offsets it
        has enough: a batch is asked for where some offset between its first and last is.
        """
        if not any(map(self.condition.mentions, ("timestamp", KEY))):
            return np.empty(0, np.int64)
        known = {
            **_known_of_batches(columns),
            "offset": Span(columns.base_offset, columns.last_offset),
            "timestamp": Span.of(columns.max_timestamp),
        }
        certain = _as_mask(self.condition.must_hold(known), len(columns)) & (columns.record_count > 0)
        return np.flatnonzero(columns.crc_valid & ~certain)

    def records(self, records: RecordColumns, columns: BatchColumns) -> RecordColumns:
        """Leave out the records that are not asked for, of batches in `columns`."""
        if self.condition == ALWAYS:
            return records
        known = {
            "offset": Span.of(records.offset),
            "timestamp": Span.of(records.timestamp),
            "leader_epoch": Span.of(columns.leader_epoch[records.batch]),
            "producer_id": Span.of(columns.producer_id[records.batch]),
        }
        if self.condition.mentions(KEY):
            from replication.copies.audit.log_rows.record_rows import keys_of  # noqa: PLC0415  numba loads with it

            known[KEY] = Span.of(keys_of(records))
        wanted = _as_mask(self.condition.may_hold(known), len(records))
        return records if wanted.all() else records.take(np.flatnonzero(wanted))

    def and_also(self, condition: Condition) -> "Selection":
        """Return what fulfils another condition too."""
        return Selection(AllOf((self.condition, condition)))


def _known_of(copy: Copy) -> Known:
    topic, partition = copy.topic_partition
    return {"topic": Span.of(topic), "partition": Span.of(partition), "replica": Span.of(copy.replica)}


def _known_of_batches(columns: BatchColumns) -> Known:
    """Return what the headers show; of producers' own timestamps only the greatest is there."""
    is_appended = (columns.attributes & TIMESTAMP_TYPE_BIT != 0) & (columns.magic > 0)
    earliest = np.where(is_appended, columns.max_timestamp, EARLIEST_TIMESTAMP)
    return {
        "timestamp": Span(earliest, columns.max_timestamp),
        "leader_epoch": Span.of(columns.leader_epoch),
        "producer_id": Span.of(columns.producer_id),
    }


def _as_mask(mask: "NDArray[np.bool_] | bool", count: int) -> NDArray[np.bool_]:
    return np.broadcast_to(np.asarray(mask, np.bool_), count)
