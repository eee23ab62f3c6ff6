"""One pass over a partition's log that feeds every check. Bytes that are not a batch are reported here."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from epoch.history import MAX_OFFSET
from logstore.awaited_threads import AwaitedThreads
from logstore.batch.columns import BatchColumns, StopReason
from logstore.batch.layout import LOG_OVERHEAD
from logstore.offline.epoch_runs import EpochRun, runs_of
from logstore.offline.holes import end_of_zeros
from logstore.offline.log_file import LogFile
from logstore.offline.segment import Segment
from logstore.offline.tail_rereader import TailRereader
from logstore.verify.batch_totals import BatchTotals
from logstore.verify.corrupt_runs import CorruptRuns
from logstore.verify.finding import CURE, Finding, Reporter

if TYPE_CHECKING:
    from logstore.offline.batch_search import BatchSearch

Scan = Callable[[LogFile, int], Iterator[BatchColumns]]
"""Reads batches as `LogFile.scan` does, from a position on to the end or to what is no batch."""
Item = TypeVar("Item")

WORTH_A_THREAD: Final = 32 << 20
"""Bytes of a log that are read ahead; starting a thread for a smaller one costs more than it saves."""


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the same items, each made while the one before is worked on: kernels run without the GIL."""
    with AwaitedThreads(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive batches of one segment."""

    segment: Segment
    is_active: bool
    """Whether the segment is the last one, to which a broker appends."""
    log: LogFile
    columns: BatchColumns
    totals: BatchTotals
    epoch_runs: list[EpochRun]


class Check(Protocol):
    """A check that gets all batches of a log in order and reports what is wrong."""

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Look at the next batches of a segment."""
        ...

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """Note that the bytes from `start` to `end` contain no readable batches."""
        ...

    def unread(self, segment: Segment) -> None:
        """Note that a segment's file could not be opened, or is none, so its content is unknown."""
        ...

    def end_segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        """Look at a segment once all its batches were seen."""
        ...

    def end(self, log_end_offset: int) -> Iterator[Finding]:
        """Look at the log as a whole; its end is the largest offset of all where nobody could read where it is."""
        ...


class SilentCheck:
    """A check that reports nothing: the base class of checks that override only some methods."""

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """See `Check`."""
        del chunk
        yield from ()

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """See `Check`."""

    def unread(self, segment: Segment) -> None:
        """See `Check`: to most checks it is damage."""
        self.damage(segment, 0, 0)

    def end_segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        """See `Check`."""
        del segment, is_active
        yield from ()

    def end(self, log_end_offset: int) -> Iterator[Finding]:
        """See `Check`."""
        del log_end_offset
        yield from ()


class LogPass:
    """Reads each segment once, in order, and after damage goes on at the next valid batch.

    Segments that a broker deletes meanwhile are ignored if only segments before them, or only segments after them,
    are gone as well: retention deletes from the front, truncation from the end.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        checks: Sequence[Check],
        report: Reporter,
        progress: Callable[[int], None] = lambda _bytes: None,
        *,
        clean_shutdown: bool = False,
        scan: Scan = LogFile.scan,
    ) -> None:
        self._segments = segments
        self._checks = checks
        self._report = report
        self._corrupt_runs = CorruptRuns(report)
        self._progress = progress
        self._clean_shutdown = clean_shutdown
        self._scan = scan
        self.log_end_offset: int = segments[0].base_offset if segments else 0
        """Where the batches end that were read."""
        self.end_is_known: bool = True
        """False where the last segment could not be read."""

    def run(self) -> Iterator[Finding]:
        """Yield all findings."""
        for segment in self._segments:
            is_active = segment is self._segments[-1]
            self.end_is_known = segment.is_file
            if not segment.is_file:  # which is reported with the directory's other names
                yield from self._corrupt_runs.end()
                self._tell_unread(segment)
                continue
            try:
                yield from self._segment(segment, is_active=is_active)
            except OSError as error:
                yield from self._corrupt_runs.end()
                yield from self._unreadable(segment, error)
                continue
            for check in self._checks:
                yield from check.end_segment(segment, is_active=is_active)
        for check in self._checks:
            yield from check.end(self.log_end_offset if self.end_is_known else MAX_OFFSET)

    def _segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        growing = TailRereader(segment.log_path)
        position, was_whole = 0, False
        while True:
            with growing.open() if is_active else segment.open_log() as log:
                self.log_end_offset = max(self.log_end_offset, segment.base_offset)
                reading = _Reading(segment, log, is_active=is_active)
                position = yield from self._read(reading, position)
                at_end = position >= log.size
                if at_end and is_active and not was_whole and growing.has_changed():
                    # What was appended meanwhile belongs to the log that indexes and checkpoints will be read of.
                    was_whole = True
                    continue
                if at_end:
                    return
                if is_active and growing.is_worth_another_read():
                    continue
                yield self._damage(reading, position, log.size)
                return

    def _read(self, reading: "_Reading", position: int) -> Generator[Finding, None, int]:
        """Read from `position` on, over damage, as far as batches go; return where they end."""
        while position <= reading.log.size:  # else it was truncated since it was read so far
            chunks = self._scan(reading.log, position)
            for columns in read_ahead(chunks) if reading.log.size - position > WORTH_A_THREAD else chunks:
                if len(columns):
                    yield from self._chunk(reading.chunk(columns))
                self._progress(columns.next_position - position)
                position, reading.stop = columns.next_position, columns.stop
            yield from self._corrupt_runs.end()
            if position >= reading.log.size:
                return position
            end = reading.next_batch(position)
            if end < 0:
                return position
            yield self._damage(reading, position, end)
            self._progress(end - position)
            position = end
        return position

    def _chunk(self, chunk: Chunk) -> Iterator[Finding]:
        if chunk.totals.corrupt or self._corrupt_runs.are_open:
            yield from self._corrupt_runs.add(chunk.segment.log_path.name, chunk.columns)
        for check in self._checks:
            yield from check.batches(chunk)
        self.log_end_offset = max(self.log_end_offset, end_after(chunk.totals.highest_offset))

    def _damage(self, reading: "_Reading", start: int, end: int) -> Finding:
        for check in self._checks:
            check.damage(reading.segment, start, end)
        log, file = reading.log, reading.segment.log_path.name
        offset = self.log_end_offset
        to_the_end = end == log.size
        if to_the_end and reading.is_zero_from(start):
            return self._zero_tail(reading, start)
        if to_the_end and reading.stop is StopReason.TORN:
            return self._report.error(
                "torn-batch",
                f"the file ends inside a batch ({end - start:,} bytes of it are there): offsets from {offset} on are "
                "lost on this replica; Kafka cuts it off when it recovers the log",
                file=file,
                position=start,
                offset=offset,
            )
        rest = f"the rest of the file, {end - start:,} bytes," if to_the_end else f"{end - start:,} bytes"
        return self._report.error(
            "unreadable-bytes",
            f"{_REASONS[reading.stop]}: {rest} cannot be read by Kafka, whose log ends here at offset {offset}; {CURE}",
            file=file,
            position=start,
            offset=offset,
        )

    def _zero_tail(self, reading: "_Reading", start: int) -> Finding:
        """Report zeros after the last batch: normal while a broker writes to preallocated segments (`preallocate`)."""
        report = self._report.error
        if reading.is_active:
            report = self._report.warning if self._clean_shutdown else self._report.info
        return report(
            "zero-tail",
            f"{reading.log.size - start:,} zero bytes follow the last batch: preallocated, or never written before "
            "the power was lost; Kafka cuts them off when it recovers the log",
            file=reading.segment.log_path.name,
            position=start,
            offset=self.log_end_offset,
        )

    def _unreadable(self, segment: Segment, error: OSError) -> Iterator[Finding]:
        self._tell_unread(segment)
        if isinstance(error, FileNotFoundError) and self._at_a_deleted_edge(segment):
            return
        self.end_is_known = False
        yield self._report.unreadable(
            error, "its batches were not checked", file=segment.log_path.name, offset=segment.base_offset
        )

    def _tell_unread(self, segment: Segment) -> None:
        for check in self._checks:
            check.unread(segment)

    def _at_a_deleted_edge(self, segment: Segment) -> bool:
        number = self._segments.index(segment)
        return not _any_left(self._segments[:number]) or not _any_left(self._segments[number + 1 :])


class _Reading:
    """One opening of a segment's log file."""

    def __init__(self, segment: Segment, log: LogFile, *, is_active: bool) -> None:
        self.segment = segment
        self.log = log
        self.is_active = is_active
        self.stop = StopReason.END
        self._search: BatchSearch | None = None
        self._zeros = (0, 0)
        """Where zeros begin and end that were met last."""

    def chunk(self, columns: BatchColumns) -> Chunk:
        """Collect what the checks need to know of the next batches."""
        totals, file = BatchTotals.of(columns), self.segment.log_path.name
        runs = runs_of(columns, file) if totals.epoch_changes else [EpochRun.of(columns, 0, len(columns), file)]
        return Chunk(self.segment, self.is_active, self.log, columns, totals, runs)

    def is_zero_from(self, position: int) -> bool:
        """Whether nothing but zeros follows."""
        if not self._zeros[0] <= position < self._zeros[1]:
            self._zeros = position, end_of_zeros(self.log.array, position, self.segment.log_path)
        return self._zeros[1] == self.log.size

    def next_batch(self, position: int) -> int:
        """Find the next valid batch behind damage at `position`; -1 where there is none."""
        from logstore.offline.batch_search import BatchSearch  # noqa: PLC0415  numba loads on the first bulk operation

        if self.is_zero_from(position):
            return -1
        self._search = self._search or BatchSearch(self.log)
        # A batch may begin with zeros, but its length, which ends its overhead, is none.
        return self._search.find(max(position, self._zeros[1] - LOG_OVERHEAD) + 1)


def ends(columns: BatchColumns, reached: int) -> NDArray[np.int64]:
    """Return the offset after the highest one so far: before the first batch, which is `reached`, and after each."""
    after = np.minimum(columns.last_offset, MAX_OFFSET - 1) + 1
    running: NDArray[np.int64] = np.maximum.accumulate(np.concatenate([[reached], after]))
    return running


def end_after(last_offset: int) -> int:
    """Return the offset after the last one, which the largest of all does not have."""
    return min(last_offset + 1, MAX_OFFSET)


def goes_on_after(segment: Segment, position: int) -> bool:
    """Whether the log file has more bytes now than were read as batches."""
    try:
        return segment.size > position
    except OSError:
        return True


def _any_left(segments: Sequence[Segment]) -> bool:
    return any(segment.log_path.exists() for segment in segments)


_REASONS = {
    StopReason.END: "no batch begins here",
    StopReason.MORE: "no batch begins here",
    StopReason.LEGACY: "no batch begins here",
    StopReason.TORN: "the length field of a batch points past the end of the file",
    StopReason.BAD_LENGTH: "the length field of a batch is too small",
    StopReason.BAD_MAGIC: "the magic byte of a batch is unknown",
    StopReason.BAD_HEADER: "the offsets or the record count in a batch header are impossible",
}
