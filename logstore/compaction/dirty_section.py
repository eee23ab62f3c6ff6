"""The part of a log that was appended since it was compacted last, and may be looked at now (Kafka: LogToClean)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from logstore.base_offsets import number_of_holder
from logstore.batch.batch import RecordBatch
from logstore.compaction.offset_map import OffsetMap
from logstore.compaction.record_section import stored_records
from logstore.compaction.seen_transactions import SeenTransactions
from logstore.compaction.segment_batches import batches_of, do_nothing
from logstore.errors import MissingKeyError
from logstore.log_config import LogConfig
from logstore.segment.live_segment import LiveSegment
from logstore.segment.segment_list import SegmentList, aborted_within


@dataclass(frozen=True, slots=True)
class DirtySection:
    """Offsets from `start` on and below `end`, where a segment begins that may not be compacted."""

    segments: tuple[LiveSegment, ...]
    """All of the log's, by base offset; the last is the active one."""
    start: int
    end: int
    needs_keys: bool = False
    """Whether a record without a key is an error."""

    @classmethod
    def of(
        cls,
        segments: Sequence[LiveSegment],
        config: LogConfig,
        *,
        compacted_end: int | None,
        log_start_offset: int,
        log_end_offset: int,
        last_stable_offset: int,
        now_ms: int,
        needs_keys: bool = False,
    ) -> "DirtySection":
        """Find where it begins and ends (Kafka: cleanableOffsets, calculateCleanableBytes).

        Never compacted are the active segment, what an open transaction or the high watermark may still decide, and
        segments with a timestamp in the last `min_compaction_lag_ms`. Raises OSError, CorruptIndexError.
        """
        start = log_start_offset if compacted_end is None else compacted_end
        if not log_start_offset <= start <= log_end_offset:
            start = log_start_offset
        bases = [segment.base_offset for segment in segments]
        closed = segments[number_of_holder(bases, start) : -1]
        limits = [last_stable_offset, bases[-1]]
        if config.min_compaction_lag_ms:
            newest = now_ms - config.min_compaction_lag_ms
            limits += [segment.base_offset for segment in closed if segment.largest_timestamp > newest][:1]
        end = bases[number_of_holder(bases, max(start, min(limits)))]
        return cls(tuple(segments), start, end, needs_keys)

    def __bool__(self) -> bool:
        """Whether it holds anything."""
        return self.dirty_bytes > 0

    @property
    def clean_bytes(self) -> int:
        """Bytes of the segments that begin before it."""
        return sum(segment.size for segment in self.segments if segment.base_offset < self.start)

    @property
    def dirty_bytes(self) -> int:
        """Bytes of its segments."""
        return sum(segment.size for segment in self._dirty)

    @property
    def ratio(self) -> float:
        """Its share in all that compaction would read (Kafka: cleanableRatio)."""
        dirty = self.dirty_bytes
        return dirty / (self.clean_bytes + dirty) if dirty else 0.0

    def is_overdue(self, config: LogConfig, now_ms: int) -> bool:
        """Whether its oldest segment began more than `max_compaction_lag_ms` ago (Kafka: maxCompactionDelay).

        Raises what `batches_of` raises.
        """
        firsts = (next(iter(batches_of(segment)), None) for segment in self._dirty)
        times = [first.max_timestamp for first in firsts if first is not None and first.max_timestamp > 0]
        return min(times, default=now_ms) < now_ms - config.max_compaction_lag_ms

    def map_offsets(self, max_keys: int, before_each: Callable[[], object] = do_nothing) -> OffsetMap:
        """Note the latest offset of each key, as far as the map reaches (Kafka: buildOffsetMap).

        `before_each` is called for each batch, and may raise. Raises what `RecordBatch.records` and `batches_of` raise,
        CorruptIndexError, and MissingKeyError.
        """
        offsets, transactions, dirty = OffsetMap(max_keys), SeenTransactions(), self._dirty
        if not dirty:
            return offsets
        transactions.add_aborted(aborted_within(self._from(self.start), self.start, self.end))
        ends = [*(segment.base_offset for segment in dirty[1:]), self.end]
        for segment, segment_end in zip(dirty, ends, strict=True):
            if not self._map_segment(segment, offsets, transactions, before_each):
                break
            # Offsets that are in no batch are looked at, too.
            offsets.latest_offset = segment_end - 1
        return offsets

    def _map_segment(
        self,
        segment: LiveSegment,
        offsets: OffsetMap,
        transactions: SeenTransactions,
        before_each: Callable[[], object],
    ) -> bool:
        """Note a segment's keys; return False where the map was full before its end."""
        for batch in batches_of(segment, segment.offset_index.lookup(self.start), before_each):
            if batch.is_control:
                transactions.is_spent(batch)
            elif not transactions.is_aborted(batch) and not self._map_batch(batch, offsets):
                return False
            if batch.last_offset >= self.start:
                offsets.latest_offset = batch.last_offset
        return True

    def _map_batch(self, batch: RecordBatch, offsets: OffsetMap) -> bool:
        if batch.last_offset < self.start:
            return True
        for record in stored_records(batch):
            if record.offset < self.start:
                continue
            if record.key is None:
                self._meet_without_key(batch, record.offset)
            elif not offsets.put(record.key, record.offset):
                return False
        return True

    def _meet_without_key(self, batch: RecordBatch, offset: int) -> None:
        if self.needs_keys:
            raise MissingKeyError(
                "a record has no key, and compaction would delete it",
                file=batch.file,
                position=batch.position,
                offset=offset,
                advice='nothing was compacted: leave "compact" out of cleanup_policy, or delete the records up to it',
            )

    @property
    def _dirty(self) -> tuple[LiveSegment, ...]:
        if self.start >= self.end:
            return ()
        return tuple(each for each in self._from(self.start) if each.base_offset < self.end)

    def _from(self, offset: int) -> tuple[LiveSegment, ...]:
        """Return the segments that may hold `offset` or later ones."""
        return SegmentList(self.segments).from_offset(offset)
