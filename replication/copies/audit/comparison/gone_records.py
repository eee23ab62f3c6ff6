"""Acknowledged records that no copy has any more: missing or zeroed in one, and not in any other either."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from epoch import UNDEFINED_EPOCH, EpochHistory
from replication.copies.audit.comparison.batch_differences import without
from replication.copies.audit.comparison.batch_reader import BatchReader
from replication.copies.audit.comparison.batch_rows import ROW, Batches, ranges_of, rows_of_ranges
from replication.copies.audit.comparison.comparison import spans
from replication.copies.audit.copy_summary import CopySummary, OffsetRange, merged
from replication.copies.audit.examination.range_digests import RANGE_BITS

_HIGHEST: Final = 2**31 - 1


def gone(readers: Mapping[str, BatchReader]) -> dict[str, Batches]:
    """Return what each copy lacks below its high watermark and no other has, as stretches of offsets by epoch.

    Where the cleaner of another copy was at work, it may have removed them. A copy that was not read whole is not
    known to lack anything. Raises CopyUnreadableError.
    """
    return {name: _gone(name, readers) for name in readers}


def _gone(name: str, readers: Mapping[str, BatchReader]) -> Batches:
    summary = readers[name].copy.summary
    found = [np.empty(0, ROW)]
    for gap in _acknowledged(summary):
        offsets = [*without([gap], _held(readers[name], [gap]))]
        lowest, highest = _epochs_around(summary, gap)
        for other, reader in readers.items():
            if offsets and other != name:
                offsets = [*without(offsets, _may_be_held(reader, offsets, lowest, highest))]
        found.append(rows_of_ranges(lowest if lowest == highest else UNDEFINED_EPOCH, offsets))
    return np.concatenate(found)


def _acknowledged(summary: CopySummary) -> Iterator[OffsetRange]:
    end = 0 if summary.unread else summary.checkpointed_high_watermark or 0
    return (OffsetRange(first, min(last, end - 1)) for first, last in summary.gaps if first < end)


def _epochs_around(summary: CopySummary, gap: OffsetRange) -> tuple[int, int]:
    """Return the leader epochs before and behind a gap: what was in it had one of these, or one between."""
    lineage = EpochHistory(summary.lineage)
    lowest = lineage.epoch_for_offset(gap.first - 1) if gap.first else None
    highest = lineage.epoch_for_offset(gap.last + 1) if gap.last + 1 < summary.log_end_offset else _HIGHEST
    return UNDEFINED_EPOCH if lowest is None else lowest, _HIGHEST if highest is None else highest


def _may_be_held(reader: BatchReader, offsets: Sequence[OffsetRange], lowest: int, highest: int) -> list[OffsetRange]:
    """Return the offsets of which a copy has records that may be those, or may have had, or was not read."""
    sound, summary = _held(reader, offsets, lowest, highest), reader.copy.summary
    return merged([*sound, *summary.cleaned, *summary.unread_offsets])


def _held(
    reader: BatchReader, offsets: Sequence[OffsetRange], lowest: int | None = None, highest: int = _HIGHEST
) -> list[OffsetRange]:
    """Return the offsets near those wanted that a copy has; those of sound records, where epochs are given."""
    held: list[OffsetRange] = []
    for span in spans(np.array(sorted(reader.ranges_with(offsets)), np.int64)):
        rows = reader.read(int(span[0]) << RANGE_BITS, int(span[-1]) + 1 << RANGE_BITS)
        if lowest is not None:
            epochs = rows["leader_epoch"]
            rows = rows[rows["is_sound"] & ((epochs < 0) | ((epochs >= lowest) & (epochs <= highest)))]
        held = merged([*held, *ranges_of(rows)])
    return held
