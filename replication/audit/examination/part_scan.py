"""Ways to read a log file for a pass in two steps: parts with their checksums first, then only headers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns, StopReason
from logstore.offline.log_file import LogFile


@dataclass(frozen=True, slots=True)
class PartScan:
    """Reads the batches that begin from byte `start` on and before `end`, and the headers on the way there.

    Damage on the way is stepped over as by whoever reads the whole file, so that all parts together give the same.
    """

    start: int
    end: int

    def scan(self, log: LogFile, position: int) -> Iterator[BatchColumns]:
        """See `logstore.verify.log_pass.Scan`."""
        if position < self.start:
            on_the_way = self._last_before(log, position)
            position = on_the_way.next_position
            if position < self.start:
                yield on_the_way
                return
        for columns in log.scan(position):
            inside = int(np.searchsorted(columns.position, self.end))
            if inside < len(columns) or columns.next_position >= self.end:
                yield replace(columns.first(inside), next_position=log.size, stop=StopReason.END)
                return
            yield columns

    def _last_before(self, log: LogFile, position: int) -> BatchColumns:
        """Walk over headers; return no batches, but where the first of this part begins or the walk ends before."""
        for columns in log.scan(position, check_crc=False):
            before = int(np.searchsorted(columns.position, self.start))
            reached = int(columns.position[before]) if before < len(columns) else columns.next_position
            walked = replace(columns.first(0), next_position=reached, stop=columns.stop)
            if reached >= self.start:
                break
        return walked


@dataclass(frozen=True, slots=True)
class KnownChecksums:
    """Reads headers only, of files of which it is known, by name, at which positions checksums do not match."""

    corrupt: Mapping[str, NDArray[np.int64]]

    def scan(self, log: LogFile, position: int) -> Iterator[BatchColumns]:
        """See `logstore.verify.log_pass.Scan`."""
        positions = self.corrupt.get(log.path.name) if log.path else None
        for columns in log.scan(position, check_crc=False):
            if positions is None:
                yield columns
            else:
                yield replace(columns, crc_valid=~np.isin(columns.position, positions))
