"""Ways to read a log file for a pass in two steps: parts with their checksums first, then only headers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batches import read_batch
from logstore.batch.columns import BatchColumns, StopReason
from logstore.errors import LogStoreError
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
        for columns in _scan_to(log, position, self.end):
            if columns.next_position >= self.end:
                yield replace(columns, next_position=log.size, stop=StopReason.END)
                return
            yield columns

    def _last_before(self, log: LogFile, position: int) -> BatchColumns:
        """Walk over headers; return no batches, but where the first of this part begins or the walk ends before."""
        for columns in _scan_to(log, position, self.start, check_crc=False):
            on_the_way = columns
        return replace(on_the_way.first(0), next_position=on_the_way.next_position, stop=on_the_way.stop)


def _scan_to(log: LogFile, position: int, end: int, *, check_crc: bool = True) -> Iterator[BatchColumns]:
    """Read the batches that begin before byte `end`, and nothing of what follows them."""
    end = max(end, position)
    for columns in LogFile(log.data[:end], log.path).scan(position, check_crc=check_crc):
        position = columns.next_position
        if columns.stop in {StopReason.MORE, StopReason.END} or end >= log.size:
            yield columns
        elif len(columns):
            yield replace(columns, stop=StopReason.MORE)
    if position >= end or end >= log.size:
        return
    # The last batch goes on beyond the end, or is none.
    try:
        beyond = position + read_batch(log.data, position).size
    except LogStoreError:
        beyond = log.size
    yield from LogFile(log.data[:beyond], log.path).scan(position, check_crc=check_crc)


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
