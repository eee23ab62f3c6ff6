"""Counts distinct records, of which several copies may have the same."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epoch import UNDEFINED_EPOCH
from replication.copies.audit.comparison.batch_rows import Batches, times_of


@dataclass(frozen=True, slots=True)
class RecordSpan:
    """Some records of a partition, by where and when they were written.

    Records are counted as headers count them, control batches included. Where nothing was counted, all but the numbers
    is None.
    """

    records: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    epochs: tuple[int, ...] = ()
    """The leader epochs that they were written under, rising, as far as they are known."""
    min_timestamp: int | None = None
    """Milliseconds since 1970 UTC, of whole batches; None where no batch has a timestamp."""
    max_timestamp: int | None = None
    control_records: int = 0
    """Those of the records that are Kafka's own, such as the markers of transactions: no consumer is given them."""

    @property
    def of_producers(self) -> int:
        """How many were written by producers."""
        return self.records - self.control_records

    def as_json(self) -> dict[str, Any]:
        """Return the span as `epochlog audit --json` prints it."""
        return {
            "records": self.records,
            "control_records": self.control_records,
            "first_offset": self.first_offset,
            "last_offset": self.last_offset,
            "epochs": list(self.epochs),
            "min_timestamp": self.min_timestamp,
            "max_timestamp": self.max_timestamp,
        }


@dataclass(slots=True)
class RecordTally:
    """Counts the records of batches from any number of copies; one offset under one leader epoch is one record.

    Batches come in groups, each of which begins at higher base offsets than the one before.
    """

    span: RecordSpan = RecordSpan()
    _reached: dict[int, int] = field(default_factory=dict)
    """By leader epoch, the last offset that was counted."""

    def add_all(self, parts: Iterable[Batches]) -> None:
        """Count in the batches of one group that were found apart, as `add` does."""
        some = [part for part in parts if len(part)]
        if some:
            self.add(np.concatenate(some))

    def add(self, batches: Batches) -> None:
        """Count in batches, in any order, of which offsets and counts may be a part of the batch's (see `clipped`)."""
        if not len(batches):
            return
        for epoch in np.unique(batches["leader_epoch"]).tolist():
            rows = batches[batches["leader_epoch"] == epoch]
            self._add(epoch, rows[np.lexsort((-rows["last_offset"], rows["base_offset"]))])

    def _add(self, epoch: int, rows: Batches) -> None:
        last = np.maximum.accumulate(np.maximum(rows["last_offset"], self._reached.get(epoch, -1)))
        before = np.concatenate([[self._reached.get(epoch, -1)], last[:-1]])
        starts = np.maximum(rows["base_offset"], before + 1)
        lengths = rows["last_offset"] - starts + 1
        new = lengths > 0
        self._reached[epoch] = int(last[-1])
        if new.any():
            counts = np.minimum(rows["record_count"][new], lengths[new])
            self._widen(epoch, counts, int(starts[new].min()), int(rows["last_offset"][new].max()), rows[new])

    def _widen(self, epoch: int, counts: NDArray[np.int64], first: int, last: int, rows: Batches) -> None:
        span = self.span
        times = [*times_of(rows), *(each for each in (span.min_timestamp, span.max_timestamp) if each is not None)]
        self.span = replace(
            span,
            records=span.records + int(counts.sum(dtype=np.int64)),
            control_records=span.control_records + int(counts[rows["is_control"]].sum(dtype=np.int64)),
            first_offset=first if span.first_offset is None else min(span.first_offset, first),
            last_offset=last if span.last_offset is None else max(span.last_offset, last),
            epochs=tuple(sorted({*span.epochs, epoch} - {UNDEFINED_EPOCH})),
            min_timestamp=min(times, default=None),
            max_timestamp=max(times, default=None),
        )


def clipped(batches: Batches, first: int, end: int) -> Batches:
    """Return the batches with offsets from `first` on and below `end`, each as far as it lies within these.

    A batch that has fewer records than offsets may have all of them there.
    """
    if not len(batches):
        return batches
    inside = batches[(batches["last_offset"] >= first) & (batches["base_offset"] < end)].copy()
    inside["base_offset"] = np.maximum(inside["base_offset"], first)
    inside["last_offset"] = np.minimum(inside["last_offset"], end - 1)
    lengths = inside["last_offset"] - inside["base_offset"] + 1
    inside["record_count"] = np.minimum(inside["record_count"], lengths)
    return inside
