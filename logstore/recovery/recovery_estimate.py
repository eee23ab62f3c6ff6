"""An estimate of the work of opening logs after an unclean stop."""

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, Self

from logstore.errors import CorruptIndexError
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovery_scan import first_segment_to_recover
from logstore.offline.segment import Segment
from logstore.recovery.segment_recovery import check_part

SMALL_BYTES: Final = 64 << 20
"""So much takes less than a second, from any disk: it is not worth measuring."""
SAMPLES: Final = 16
SAMPLE_BYTES: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class RecoveryEstimate:
    """What recovery will read: the segments from each log's recovery point on."""

    partitions: int = 0
    segments: int = 0
    bytes: int = 0
    bytes_a_second: float | None = None
    """How fast one thread checks these very files, part of them cached perhaps; None where they are few and small."""

    @classmethod
    def of(cls, partitions: Iterable[PartitionDirectory]) -> Self:
        """Add up what the partitions' directories and checkpoints show; nothing after a clean stop.

        If there are more than 64 MiB, samples are checked to measure the speed: 16 of 4 MiB at most, in a second at
        worst. Raises OSError.
        """
        count, unflushed = 0, list[Segment]()
        for partition in partitions:
            found = unflushed_segments(partition)
            count += bool(found)
            unflushed += found
        sizes = [segment.size for segment in unflushed]
        size = sum(sizes)
        rate = measure_rate(unflushed, sizes) if size > SMALL_BYTES else None
        return cls(count, len(unflushed), size, rate)

    @property
    def seconds(self) -> float | None:
        """How long one thread will check batches; None for less than a second.

        That is, but for a few tenths of a second, what opening takes when the files are in the page cache. From a cold
        disk it took 0.3 to 1.2 times as long in trials: disks read long stretches faster than samples, and not evenly.
        Each segment costs a few syncs on top, and each producer's batch some microseconds. `LogDirectory` uses several
        threads, which is faster as far as the disk goes along.
        """
        return self.bytes / self.bytes_a_second if self.bytes_a_second else None

    def __str__(self) -> str:
        seconds = self.seconds or 0.0
        time = f"about {seconds:,.0f} seconds" if seconds >= 1 else "less than a second"
        return f"{self.bytes:,} bytes in {self.segments:,} segments of {self.partitions:,} partitions to check: {time}"

    def as_json(self) -> dict[str, Any]:
        """Return a document of plain values."""
        return {
            "partitions": self.partitions,
            "segments": self.segments,
            "bytes": self.bytes,
            "bytes_a_second": self.bytes_a_second,
            "seconds": self.seconds,
        }


def unflushed_segments(partition: PartitionDirectory) -> list[Segment]:
    """Return the segments that recovery checks."""
    return [*partition.segments[first_segment_to_recover(partition) :]]


def measure_rate(segments: Sequence[Segment], sizes: Sequence[int]) -> float | None:
    """Check samples from all over the segments; return bytes a second. None where all of them begin with damage."""
    checked, seconds = 0, 0.0
    for segment, position in _places(segments, sizes):
        with segment.open_log() as log:
            start = _batch_before(segment, position)
            check_part(log, segment.base_offset, start, start)  # what loads on first use is not measured
            begun = time.perf_counter()
            checked += check_part(log, segment.base_offset, start, start + SAMPLE_BYTES)
            seconds += time.perf_counter() - begun
    return checked / seconds if checked else None


def _places(segments: Sequence[Segment], sizes: Sequence[int]) -> Iterator[tuple[Segment, int]]:
    """Give places at equal distances, as if the segments were one file; together no more than a quarter of it."""
    ends = list(accumulate(sizes))
    count = min(SAMPLES, ends[-1] // (4 * SAMPLE_BYTES))
    for number in range(count):
        place = (2 * number + 1) * ends[-1] // (2 * count)
        chosen = bisect_right(ends, place)
        yield segments[chosen], place - (ends[chosen] - sizes[chosen])


def _batch_before(segment: Segment, position: int) -> int:
    """Find where a batch begins, by the index; the segment's beginning where it does not know."""
    try:
        index = segment.offset_index()
    except CorruptIndexError:
        return 0
    number = bisect_right(index.position, position) if index else 0
    return int(index.position[number - 1]) if index and number else 0
