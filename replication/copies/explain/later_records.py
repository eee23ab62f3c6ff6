"""Whether a later record of its key allows for what the cleaner took, by the copies that still have it."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import RecordColumns
from logstore.errors import LogStoreError
from logstore.kernels.digest import digest_keys
from logstore.offline.recovered_log import RecoveredLog
from replication.copies.explain.offset_ranges import Ranges
from replication.copies.explain.offset_runs import Runs

Offsets = NDArray[np.int64]
Digests = NDArray[np.uint64]


class HeldBack(NamedTuple):
    """A copy that has committed records where the explained log has a gap."""

    log: RecoveredLog
    rows: Ranges
    """Where it has them."""
    visible: Runs
    """All data that it has from there on, but for what was aborted, as far as it is common with the explained log."""


def lost_to_no_later_record(explained: RecoveredLog, visible: Runs, held: Iterable[HeldBack]) -> Offsets:
    """Return which of the held offsets are no work of the cleaner: no later record of their key is there.

    A record without a key, and a tombstone, may always go. `visible` are the offsets of the explained log that count:
    those that the cleaner was over, without control records. Nothing is claimed of a log that cannot be read. Raises
    OSError.
    """
    copies = list(held)
    keys, offsets = _held_records(copies)
    if not len(keys):
        return offsets
    latest = _LatestOffsets.of(keys)
    first = int(offsets.min())
    try:
        latest.take_all(explained, first, _Spans.of(visible))
    except LogStoreError:
        return np.empty(0, np.int64)
    for copy in copies:
        with suppress(LogStoreError):
            latest.take_all(copy.log, first, _Spans.of(copy.visible))
    return np.unique(offsets[latest.of_keys(keys) <= offsets])


@dataclass(frozen=True, slots=True)
class _LatestOffsets:
    """The latest offset of each of some keys, by their digests: of 64 bits, so that hardly two keys have one."""

    keys: Digests
    """Each once, by size."""
    offsets: Offsets

    @classmethod
    def of(cls, keys: Digests) -> Self:
        known = np.unique(keys)
        return cls(known, np.full(len(known), -1, np.int64))

    def take_all(self, log: RecoveredLog, first: int, spans: "_Spans") -> None:
        """Read the records of a log that count, from an offset on. Raises LogStoreError."""
        for records in log.columns(first, max(spans.end, first)):
            self._take(records, spans.hold(records.offset))

    def _take(self, records: RecordColumns, are_wanted: NDArray[np.bool_]) -> None:
        rows = np.flatnonzero(are_wanted & (records.key_length >= 0))
        if not len(rows):
            return
        digests = digest_keys(records)[0][rows]
        place = np.minimum(np.searchsorted(self.keys, digests), len(self.keys) - 1)
        is_known = self.keys[place] == digests
        np.maximum.at(self.offsets, place[is_known], records.offset[rows[is_known]])

    def of_keys(self, keys: Digests) -> Offsets:
        return self.offsets[np.searchsorted(self.keys, keys)]


def _held_records(copies: Iterable[HeldBack]) -> tuple[Digests, Offsets]:
    """Return the digests of keys, and offsets, of the records that need a later one."""
    keys, offsets = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for copy in copies:
        spans = _Spans.of(copy.rows)
        with suppress(LogStoreError):
            for records in copy.log.columns(int(spans.first[0]), spans.end):
                rows = spans.hold(records.offset) & (records.key_length >= 0) & (records.value_length >= 0)
                if rows.any():
                    keys.append(digest_keys(records)[0][rows])
                    offsets.append(records.offset[rows])
    return np.concatenate(keys), np.concatenate(offsets)


@dataclass(frozen=True, slots=True)
class _Spans:
    """The offsets of some rows, as columns of their own: a field of structured rows is copied for each search in it."""

    first: Offsets
    last: Offsets

    @classmethod
    def of(cls, rows: Ranges | Runs) -> Self:
        return cls(np.ascontiguousarray(rows["first"]), np.ascontiguousarray(rows["last"]))

    @property
    def end(self) -> int:
        """Behind the last of them; 0 where there are none."""
        return int(self.last[-1]) + 1 if len(self.last) else 0

    def hold(self, offsets: Offsets) -> NDArray[np.bool_]:
        """Return which of these offsets, which rise, are among them."""
        begin, end = np.searchsorted(self.first, (offsets[0], offsets[-1] + 1))
        first, last = self.first[max(begin - 1, 0) : end], self.last[max(begin - 1, 0) : end]
        at = np.searchsorted(first, offsets, "right") - 1
        inside = at >= 0
        inside[inside] = last[at[inside]] >= offsets[inside]
        return inside
