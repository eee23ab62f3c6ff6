"""Which offsets of each replica are compared: fixed before anything is read, so that later writes are left out."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from replication.cluster.network_audit.errors import ReplicaMovedError


class SeenEnds(NamedTuple):
    """What a broker has said of its replica at first."""

    start: int
    """Where its log starts on its own disk."""
    high_watermark: int


class Bounds(NamedTuple):
    """What is read of a replica: offsets from `start` on, below `end`."""

    start: int
    end: int


def are_behind(seen: Mapping[int, SeenEnds], leader: int, isr: Collection[int]) -> bool:
    """Whether a replica in sync has not heard yet how far the leader's high watermark is, as it will at once."""
    return leader in seen and any(
        each in seen and seen[each].high_watermark < seen[leader].high_watermark for each in isr
    )


def bounds_of(seen: Mapping[int, SeenEnds], isr: Collection[int]) -> dict[int, Bounds]:
    """Bound all replicas by the least high watermark in the ISR; one that is not in sync may end before that.

    Raises ReplicaMovedError where the least one lies before the start of some replica in sync: retention is at work.
    """
    in_sync = {each: ends for each, ends in seen.items() if each in isr}
    end = min(ends.high_watermark for ends in (in_sync or seen).values())
    for each, ends in in_sync.items():
        if ends.start > end:
            raise ReplicaMovedError(f"the log of broker {each} starts at {ends.start:,}, beyond {end:,}")
    return {each: Bounds(ends.start, max(ends.start, min(end, ends.high_watermark))) for each, ends in seen.items()}
