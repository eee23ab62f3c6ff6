"""An empty segment before the last one: its records were lost, or a truncation left it empty."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Final, TypeVar

from epoch.checkpoint import LeaderEpochCheckpoint
from epoch.errors import EpochError
from logstore.errors import LogStoreError
from logstore.file_name import INDEX_KINDS, FileKind
from logstore.files.producer_snapshot import ProducerSnapshot
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.segment import Segment
from logstore.verify.compaction import Compaction
from logstore.verify.finding import CURE, Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck

COMPARE: Final = "compare with another replica"

Content = TypeVar("Content")


class EmptySegmentCheck(SilentCheck):
    """Looks in the other files for records that an empty segment had.

    A truncation to an offset inside a segment's first batch takes the whole batch, and the log goes on at that offset:
    if it rolls there, an empty segment stays behind and its offsets were never given to any record of this log.
    """

    def __init__(
        self, report: Reporter, compaction: Compaction, partition: PartitionDirectory, segments: Sequence[Segment]
    ) -> None:
        self._report = report
        self._compaction = compaction
        self._partition = partition
        self._next_base = {one.base_offset: after.base_offset for one, after in pairwise(segments)}
        self._empty: list[Segment] = []
        self._segment: Segment | None = None

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Note that the segment has some."""
        self._segment = chunk.segment
        yield from ()

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """Note that the segment has bytes."""
        del start, end
        self._segment = segment

    def end_segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        """Remember a segment without bytes that is followed by others."""
        if segment is not self._segment and not is_active:
            self._empty.append(segment)
        yield from ()

    def end(self, log_end_offset: int) -> Iterator[Finding]:
        """Report the empty segments, once it is known whether the log was compacted."""
        del log_end_offset
        if not self._compaction.found:
            yield from map(self._judge, self._empty)

    def _judge(self, segment: Segment) -> Finding:
        evidence = next(self._evidence(segment), None)
        end = self._next_base[segment.base_offset]
        normal = f"later segments go on at {end}: a truncation inside its only batch has this effect"
        if evidence is not None:
            of_severity, what = self._report.error, f"{evidence}: its records are lost on this replica; {CURE}"
        elif not any(kind in segment.files for kind in INDEX_KINDS):
            of_severity, what = (
                self._report.warning,
                f"{normal}, but no index would show records; {COMPARE}",
            )
        else:
            of_severity, what = self._report.info, f"{normal}, and no other file knows of records in it"
        return of_severity(
            "empty-segment",
            f"the file has 0 bytes although {what}",
            file=segment.log_path.name,
            position=0,
            offset=segment.base_offset,
        )

    def _evidence(self, segment: Segment) -> Iterator[str]:
        """Name the files that show records in the segment. An unreadable file is reported by its own check."""
        start, end = segment.base_offset, self._next_base[segment.base_offset]
        offsets, times = _attempt(segment.offset_index), _attempt(segment.time_index)
        transactions = _attempt(segment.transaction_index)
        if offsets is not None and len(offsets):
            yield f"its .index has {len(offsets):,} entries"
        if times is not None and len(times):
            yield f"its .timeindex has {len(times):,} entries"
        if transactions is not None and transactions.entries:
            yield f"its .txnindex has {len(transactions.entries):,} entries"
        for epoch, first in _attempt(LeaderEpochCheckpoint(self._partition.path).read) or ():
            if start < first < end:
                yield f"epoch {epoch} began in it, at {first}"
        for name, path in self._partition.named(FileKind.PRODUCER_SNAPSHOT):
            snapshot = _attempt(partial(ProducerSnapshot.read, path)) if name.base_offset == end else None
            for entry in snapshot.entries if snapshot is not None else ():
                if start <= entry.last_offset < end:
                    yield f"producer {entry.producer_id} wrote offset {entry.last_offset}, by the snapshot after it"


def _attempt(read: Callable[[], Content]) -> Content | None:
    try:
        return read()
    except (LogStoreError, EpochError, OSError):
        return None
