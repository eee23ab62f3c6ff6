"""Which neighbouring segments compaction merges into one (Kafka: groupSegmentsBySize)."""

from collections.abc import Sequence

from logstore.files.index_slots import MAX_RELATIVE_OFFSET, OFFSET_SLOT, TIME_SLOT
from logstore.log_config import LogConfig
from logstore.segment.live_segment import LiveSegment

Group = list[LiveSegment]


def group_segments(segments: Sequence[LiveSegment], end: int, config: LogConfig) -> list[Group]:
    """Divide segments, by base offset, into groups that fit into one segment even if nothing is dropped.

    `end` is where the segments end. Raises OSError, CorruptIndexError.
    """
    groups: list[Group] = []
    ends = [*(segment.base_offset for segment in segments[1:]), end]
    for segment, segment_end in zip(segments, ends, strict=True):
        if groups and _fits(groups[-1], segment, segment_end, config):
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def _fits(group: Group, segment: LiveSegment, end: int, config: LogConfig) -> bool:
    together = [*group, segment]
    return (
        sum(each.size for each in together) <= config.segment_bytes
        and sum(len(each.offset_index) for each in together) * OFFSET_SLOT <= config.segment_index_bytes
        and sum(len(each.time_index) for each in together) * TIME_SLOT <= config.segment_index_bytes
        and (not segment.size or end - 1 - group[0].base_offset <= MAX_RELATIVE_OFFSET)
    )
