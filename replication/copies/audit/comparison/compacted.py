"""Copies that the cleaner has been over, compared by what each key says last."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from replication.copies.audit.comparison.batch_reader import BatchReader
from replication.copies.audit.comparison.divergence import Divergence
from replication.copies.audit.comparison.record_table import Records, RecordTable
from replication.copies.audit.copy_summary import CopySummary

RECORDS_AT_ONCE: Final = 8_000_000
"""Records of both copies that are held in memory at once, some 60 bytes each; of more, a share of the keys."""


@dataclass(frozen=True, slots=True)
class CompactedComparison:
    """What the cleaner does not explain of the differences between two copies."""

    divergences: tuple[Divergence, ...]
    missing_left: tuple[int, ...]
    """Offsets of records that say the last of their key, below what the cleaner has been over, and are not there."""
    missing_right: tuple[int, ...]


def compare_compacted(readers: tuple[BatchReader, BatchReader], first: int, end: int) -> CompactedComparison:
    """Compare the records from offset `first` on and below `end`. Raises CopyUnreadableError.

    Records under the same offset must be the same. What a key says last must be the same too, where having been
    deleted is the same as never having been there. Records of aborted transactions say nothing, nor do those of
    transactions whose end neither copy has. Since the cleaner removes a record only for a later one of the same key
    below its own point, that is what counts for the copy that lacks one; if it was beyond `end`, the later record may
    be one that the other copy does not have yet.
    """
    total = sum(reader.copy.summary.records for reader in readers)
    shares = -(-total // RECORDS_AT_ONCE) or 1
    divergences: list[Divergence] = []
    missing_left: list[int] = []
    missing_right: list[int] = []
    for share in range(shares):
        of_left, of_right = (_table(reader, first, end, share, shares) for reader in readers)
        left, right = of_left.records(of_right.markers), of_right.records(of_left.markers)
        divergences += _divergences(left, right, readers)
        missing_left += _missing(readers[0].copy.summary, left, right, end)
        missing_right += _missing(readers[1].copy.summary, right, left, end)
    return CompactedComparison(
        tuple(sorted(divergences, key=lambda divergence: divergence.first_offset)),
        tuple(sorted(missing_left)),
        tuple(sorted(missing_right)),
    )


def _table(reader: BatchReader, first: int, end: int, share: int, shares: int) -> RecordTable:
    table = RecordTable(first, end, reader.numbers, share=share, shares=shares)
    reader.read_all(table)
    return table


def _divergences(left: Records, right: Records, readers: tuple[BatchReader, BatchReader]) -> Iterator[Divergence]:
    """Find records under the same offset that are not the same; one divergence a batch."""
    _, lefts, rights = np.intersect1d(left["offset"], right["offset"], return_indices=True)
    unlike = left["content"][lefts] != right["content"][rights]
    left, right = left[lefts[unlike]], right[rights[unlike]]
    if not len(left):
        return
    changes = (np.diff(left["position"]) != 0) | (np.diff(left["segment"]) != 0)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1, [len(left)]])
    for start, end in pairwise(starts):
        yield Divergence(
            int(left["offset"][start]),
            int(left["offset"][end - 1]),
            int(left["leader_epoch"][start]),
            readers[0].file(int(left["segment"][start])),
            int(left["position"][start]),
            readers[1].file(int(right["segment"][start])),
            int(right["position"][start]),
        )


def _latest(records: Records) -> Records:
    """Return the last record of each key, by key."""
    keyed: Records = records[records["has_key"]]
    keyed = keyed[np.lexsort((keyed["offset"], keyed["second_key"], keyed["key"]))]
    if len(keyed) < 2:
        return keyed
    differs = (keyed["key"][1:] != keyed["key"][:-1]) | (keyed["second_key"][1:] != keyed["second_key"][:-1])
    latest: Records = keyed[np.append(differs, True)]
    return latest


def _lacking(records: Records, others: Records) -> NDArray[np.int64]:
    """Return the offsets of those of the others that say the last of their key, and that are not among the records.

    A deletion is lacked only where an older record of the key is still there.
    """
    latest, wanted = _latest(records), _latest(others)
    at = np.minimum(np.searchsorted(latest["key"], wanted["key"]), max(len(latest) - 1, 0))
    known = np.zeros(len(wanted), np.bool_)
    if len(latest):
        known = (latest["key"][at] == wanted["key"]) & (latest["second_key"][at] == wanted["second_key"])
    stale, deleted = np.zeros(len(wanted), np.bool_), np.zeros(len(wanted), np.bool_)
    stale[known] = latest["offset"][at[known]] < wanted["offset"][known]
    deleted[known] = latest["is_tombstone"][at[known]]
    says_something = ~wanted["is_tombstone"] | known & ~deleted
    offsets: NDArray[np.int64] = wanted["offset"][says_something & (stale | ~known)]
    return np.setdiff1d(offsets, records["offset"])


def _missing(summary: CopySummary, records: Records, others: Records, end: int) -> list[int]:
    """Return the offsets of the others' records that the cleaner should have kept in the copy with this summary."""
    if summary.cleaned_to > end:
        return []
    # What a broker that was killed has cleaned last may not be in its checkpoint yet.
    is_certain = summary.clean_shutdown and summary.cleaner_offset is not None
    known_to = summary.cleaned_to if is_certain else end
    offsets = _lacking(records[records["offset"] < known_to], others[others["offset"] < known_to])
    missing: list[int] = offsets[offsets < summary.cleaned_to].tolist()
    return missing
