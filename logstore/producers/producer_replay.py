"""Bring the producers' state to where a log is cut (Kafka: rebuildProducerState)."""

from logstore.batch.batch_attributes import NO_PRODUCER_ID
from logstore.producers.producer_state import ProducerState
from logstore.segment.segment_list import SegmentList


def rebuild_producers(
    producers: ProducerState, segments: SegmentList, *, log_start_offset: int, log_end_offset: int, now_ms: int
) -> None:
    """Load the latest snapshot up to the log's new end, replay what follows it, and take a snapshot there.

    Batches that reach the new end may still be in the log. Where no producer was known before, none is afterwards, and
    nothing is read. Raises OSError.
    """
    knew_none = producers.is_empty() and producers.end_offset >= log_end_offset
    producers.reload(log_start_offset, log_end_offset, now_ms)
    if not knew_none:
        _replay(producers, segments, log_start_offset, log_end_offset)
    producers.end_offset = log_end_offset
    producers.take_snapshot()


def _replay(producers: ProducerState, segments: SegmentList, log_start_offset: int, log_end_offset: int) -> None:
    snapshots_at = segments.base_offsets[-2:]
    for segment in segments.from_offset(producers.end_offset):
        start = max(segment.base_offset, producers.end_offset, log_start_offset)
        if start >= log_end_offset:
            return
        producers.end_offset = start
        if segment.base_offset in snapshots_at:
            producers.take_snapshot()
        place = segment.reader.locate(start, segment.size)
        for batch in segment.batches(place[0]) if place else ():
            if batch.last_offset >= log_end_offset:
                return
            if batch.producer_id != NO_PRODUCER_ID:
                producers.replay(batch)
