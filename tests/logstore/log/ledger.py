"""What a log must hold after all that was done to it, in the order in which the log took it."""

import threading
from dataclasses import dataclass
from pathlib import Path

from logstore.append.append_info import AppendInfo
from logstore.log.observers.log_observer import LogObserver


@dataclass(frozen=True)
class Written:
    """A record, or the marker that ends a producer's transaction: that has no value."""

    value: bytes | None
    timestamp: int
    producer_id: int | None = None
    is_commit: bool = False


class Ledger(LogObserver):
    """Told of each change with the log's lock held: it knows which of two at once came first."""

    def __init__(self) -> None:
        self.start = 0
        """Where the log begins."""
        self.latest_start = 0
        """Where it may begin at the latest: nobody has deleted more."""
        self._written: dict[int, Written] = {}
        self._expected = threading.local()

    def expect(self, written: Written) -> None:
        """Know what this thread appends next."""
        self._expected.written = written

    def appended(self, log: Path, info: AppendInfo) -> None:
        del log
        assert info.first_offset not in self._written, f"offset {info.first_offset} is given twice"
        self._written[info.first_offset] = self._expected.written

    def truncated(self, log: Path, log_end_offset: int, bytes_removed: int) -> None:
        del log, bytes_removed
        self._written = {offset: each for offset, each in self._written.items() if offset < log_end_offset}
        self.latest_start = min(self.latest_start, log_end_offset)

    def start_at(self, start: int) -> None:
        """Forget what was deleted, other than of transactions that a truncation can open again, with their markers."""
        self.start = start
        decided_below = self._fates(start)
        self._written = {
            offset: each
            for offset, each in self._written.items()
            if offset >= start or (each.value is not None and each.producer_id and offset not in decided_below)
        }

    # --- what is to be read

    @property
    def records(self) -> dict[int, bytes]:
        """All values by offset."""
        found = self._written.items()
        return {offset: each.value for offset, each in found if each.value is not None and offset >= self.start}

    def last_stable_offsets(self, end: int) -> range:
        """Where the last stable offset of the log may be that ends at `end`, once all markers are replicated.

        Of an open transaction whose first records are deleted the log may know where it began, or what is left of it.
        """
        earliest = max(self.start, min(self._first_undecided(), end))
        return range(earliest, min(self._first_undecided(self.start), end) + 1)

    def committed_before(self, end: int) -> dict[int, bytes]:
        """The values that readers of committed records see."""
        aborted = {offset for offset, is_commit in self._fates().items() if not is_commit}
        return {offset: value for offset, value in self.records.items() if offset < end and offset not in aborted}

    def first_offset_from(self, timestamp: int) -> int | None:
        """Of the first record that is not before `timestamp`, markers included."""
        found = self._written.items()
        later = (offset for offset, each in found if each.timestamp >= timestamp and offset >= self.start)
        return min(later, default=None)

    def _first_undecided(self, start: int = 0) -> int:
        fates = self._fates()
        open_ = (
            offset
            for offset, each in self._written.items()
            if each.producer_id is not None and each.value is not None and offset not in fates and offset >= start
        )
        return min(open_, default=2**63)

    def _fates(self, end: int = 2**63) -> dict[int, bool]:
        """Whether the records of transactions are committed that are decided below `end`, by offset."""
        fates: dict[int, bool] = {}
        marker: dict[int, bool] = {}
        for offset, each in sorted(self._written.items(), reverse=True):
            if offset >= end:
                continue
            if each.producer_id is not None and each.value is None:
                marker[each.producer_id] = each.is_commit
            elif each.producer_id in marker:
                fates[offset] = marker[each.producer_id]
        return fates
