"""One pass over a partition's log that feeds every check: what is no batch is reported here, the rest by the checks."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from logstore.columns import BatchColumns, StopReason
from logstore.log_file import LogFile
from logstore.segment import Segment
from logstore.verify.finding import Finding, Reporter

TAIL_READS = 5
"""How often the tail of a log that is being written is read again before it is called damaged."""
TAIL_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive batches of one segment."""

    segment: Segment
    is_active: bool
    """Whether the segment is the last one, to which a broker appends."""
    log: LogFile
    columns: BatchColumns


class Check(Protocol):
    """Something that watches the batches go by and reports what it sees."""

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Look at the next batches of a segment."""
        ...

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """Learn that the bytes from `start` to `end` hold no readable batches."""
        ...

    def end_segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        """Look at a segment once all its batches were seen."""
        ...

    def end(self, log_end_offset: int) -> Iterator[Finding]:
        """Look at the log as a whole."""
        ...


class SilentCheck:
    """A check that says nothing: the base of those that need only some of the moments."""

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """See `Check`."""
        del chunk
        yield from ()

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """See `Check`."""

    def end_segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        """See `Check`."""
        del segment, is_active
        yield from ()

    def end(self, log_end_offset: int) -> Iterator[Finding]:
        """See `Check`."""
        del log_end_offset
        yield from ()


class LogPass:
    """Reads each segment once, in order, and after damage goes on at the next valid batch."""

    def __init__(
        self,
        segments: Sequence[Segment],
        checks: Sequence[Check],
        report: Reporter,
        progress: Callable[[int], None] = lambda _bytes: None,
    ) -> None:
        self._segments = segments
        self._checks = checks
        self._report = report
        self._progress = progress
        self.log_end_offset = segments[0].base_offset if segments else 0

    def run(self) -> Iterator[Finding]:
        """Yield all findings."""
        for segment in self._segments:
            is_active = segment is self._segments[-1]
            self.log_end_offset = max(self.log_end_offset, segment.base_offset)
            yield from self._segment(segment, is_active=is_active)
            for check in self._checks:
                yield from check.end_segment(segment, is_active=is_active)
        for check in self._checks:
            yield from check.end(self.log_end_offset)

    def _segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        position = 0
        rereads = TAIL_READS if is_active else 0
        while True:
            with segment.open_log() as log:
                for columns in log.scan(position):
                    if len(columns):
                        yield from self._chunk(Chunk(segment, is_active, log, columns))
                    self._progress(columns.next_position - position)
                    position, stop = columns.next_position, columns.stop
                if position >= log.size:
                    return
                if rereads and _changed(segment, log):
                    rereads -= 1
                    time.sleep(TAIL_PAUSE_SECONDS)
                    continue
                end = self._next_batch(log, position)
                yield self._describe_damage(segment, log, position, end, stop, is_active=is_active)
                for check in self._checks:
                    check.damage(segment, position, end)
                if end == log.size:
                    return
                position = end

    def _chunk(self, chunk: Chunk) -> Iterator[Finding]:
        columns = chunk.columns
        for row in np.flatnonzero(~columns.crc_valid):
            yield self._report.error(
                "corrupt-batch",
                f"the checksum of the batch with offsets {columns.base_offset[row]}..{columns.last_offset[row]} does "
                "not "
                f"hold over its {columns.size[row]:,} bytes: its records cannot be trusted; Kafka cuts the log off "
                "here "
                "when it recovers this segment, so fetch it again from another replica",
                file=chunk.segment.log_path.name,
                position=int(columns.position[row]),
                offset=int(columns.base_offset[row]),
            )
        for check in self._checks:
            yield from check.batches(chunk)
        self.log_end_offset = max(self.log_end_offset, int(columns.last_offset.max()) + 1)

    def _next_batch(self, log: LogFile, position: int) -> int:
        from logstore.kernels.scan import find_next_batch  # noqa: PLC0415  numba loads on the first bulk operation

        found = int(find_next_batch(log.array, position + 1, log.size, 0))
        return log.size if found < 0 else found

    def _describe_damage(
        self, segment: Segment, log: LogFile, start: int, end: int, stop: StopReason, *, is_active: bool
    ) -> Finding:
        file, missing = segment.log_path.name, end - start
        rest = (
            f"the rest of the file, {missing:,} bytes"
            if end == log.size
            else f"{missing:,} bytes up to position {end:,}"
        )
        if end == log.size and not log.array[start:end].any():
            report = self._report.warning if is_active else self._report.error
            return report(
                "zero-tail",
                f"{missing:,} zero bytes follow the last batch: preallocated, or never written before the power was "
                "lost; "
                "Kafka cuts them off when it recovers the log",
                file=file,
                position=start,
                offset=self.log_end_offset,
            )
        if stop is StopReason.TORN and end == log.size:
            return self._report.error(
                "torn-batch",
                f"the file ends inside a batch ({missing:,} bytes of it are there): offsets from "
                f"{self.log_end_offset} on "
                "are lost on this replica; Kafka cuts it off when it recovers the log",
                file=file,
                position=start,
                offset=self.log_end_offset,
            )
        return self._report.error(
            "unreadable-bytes",
            f"{_REASONS[stop]}: {rest} cannot be read by Kafka, whose log ends here at offset {self.log_end_offset}",
            file=file,
            position=start,
            offset=self.log_end_offset,
        )


_REASONS = {
    StopReason.END: "no batch begins here",
    StopReason.MORE: "no batch begins here",
    StopReason.LEGACY: "no batch begins here",
    StopReason.TORN: "the length field of a batch points past the end of the file",
    StopReason.BAD_LENGTH: "the length field of a batch is too small",
    StopReason.BAD_MAGIC: "the magic byte of a batch is unknown",
    StopReason.BAD_HEADER: "the offsets or the record count in a batch header cannot be",
}


def _changed(segment: Segment, log: LogFile) -> bool:
    try:
        return segment.size != log.size
    except FileNotFoundError:
        return False
