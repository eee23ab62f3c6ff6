"""Which leader epoch wrote which offsets, as an immutable value: no lock, no file, and each change is a new history."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import count
from operator import index
from typing import TYPE_CHECKING, Final

from epoch.entry import UNDEFINED_END_OFFSET, UNDEFINED_EPOCH, EndOffset, EpochEntry
from epoch.errors import InvalidEpochEntryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_EPOCH: Final = 2**31 - 1
MAX_OFFSET: Final = 2**63 - 1

_MOST_SHOWN: Final = 8
"""Entries that a history shows of itself."""
_NO_EPOCH: Final = -(2**64)
"""The latest epoch of an empty history: every request lies above it."""

_NO_START: Final = 2**64
"""Where it starts: every offset lies below it."""

_ANSWERS_PER_ENTRY: Final = 4
_MOST_ANSWERS: Final = 1 << 16
"""So many answers are kept at most: 16 MB."""

_CELLS_PER_ENTRY: Final = 8
"""Offsets fall into cells of a power of two, one to two times so many."""
_MOST_IN_CELLS: Final = 1 << 12
"""Who wrote a cell is not kept of more entries than that: 8 MB, and in no cache of the processor."""

# Half the cost of EndOffset(...).
_build: Final = tuple.__new__
_new: Final = object.__new__


class EpochHistory:
    """A partition's leader epochs and where each starts; epochs and start offsets both strictly rise.

    A history is immutable: methods that change it return a new one, or `self` if nothing changes. The constructor
    assigns its entries one after another, so a list that does not rise is repaired.

    >>> history = EpochHistory([EpochEntry(0, 0), EpochEntry(3, 50)])
    >>> history.end_offset_for(1, log_end_offset=80)
    EndOffset(epoch=0, end_offset=50)
    """

    __slots__ = ("_answers", "_epochs", "_latest", "_latest_start", "_shift", "_size", "_sizes", "_starts", "_writers")

    # Shared with the histories that followed by appending: what lies beyond `_size` is theirs.
    _epochs: array[int]
    _starts: array[int]
    _sizes: count[int]  # from which they may grow: of several threads that ask, one is given its size, and appends
    _size: int
    _latest: int
    _latest_start: int
    # What was found before, other than of the latest epoch: finding it again would take longer.
    _answers: dict[int, EndOffset]
    _writers: dict[int, int] | None  # by `offset >> _shift`, where one epoch wrote all such offsets
    _shift: int

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        epochs, starts = array("q"), array("q")
        last_epoch = last_start = -1
        for epoch, start_offset in entries:
            if last_epoch < epoch <= MAX_EPOCH and last_start < start_offset <= MAX_OFFSET:
                epochs.append(epoch)
                starts.append(start_offset)
            else:
                _put(epochs, starts, epoch, start_offset)
            last_epoch, last_start = epochs[-1], starts[-1]
        self._fill(epochs, starts)

    @classmethod
    def of_rising(cls, epochs: array[int], starts: array[int]) -> EpochHistory:
        """Create a history from columns of type "q", unchecked: both must strictly rise, from 0 or above."""
        history = cls.__new__(cls)
        history._fill(epochs, starts)
        return history

    @classmethod
    def from_batches(cls, batches: Iterable[tuple[int, int]]) -> EpochHistory:
        """Rebuild a history from the log: (partition leader epoch, base offset) of each batch, in log order.

        Batches without an epoch (-1), and batches whose epoch is below an earlier one's, are ignored, as in Kafka's
        recovery.
        """
        epochs, firsts, _ = _runs(batches)
        return cls(zip(epochs, firsts, strict=True))

    # --- what the history says

    @property
    def entries(self) -> list[EpochEntry]:
        """All entries, the earliest first (Kafka: epochEntries)."""
        return list(map(EpochEntry, *self.columns))

    @property
    def columns(self) -> tuple[array[int], array[int]]:
        """A copy of the entries as two columns of type "q": epochs, start offsets."""
        return self._epochs[: self._size], self._starts[: self._size]

    @property
    def earliest(self) -> EpochEntry | None:
        """The first entry (Kafka: earliestEntry)."""
        return self._entry(0) if self._size else None

    @property
    def latest(self) -> EpochEntry | None:
        """The last entry (Kafka: latestEntry)."""
        return self._entry(self._size - 1) if self._size else None

    @property
    def latest_epoch(self) -> int | None:
        """The last entry's epoch (Kafka: latestEpoch)."""
        return self._latest if self._size else None

    @property
    def previous_epoch(self) -> int | None:
        """The epoch before the latest one (Kafka: previousEpoch)."""
        return self._epochs[self._size - 2] if self._size > 1 else None

    def entry_for(self, epoch: int) -> EpochEntry | None:
        """Return the entry of exactly this epoch (Kafka: epochEntry)."""
        position = bisect_left(self._epochs, epoch, 0, self._size)
        return self._entry(position) if position < self._size and self._epochs[position] == epoch else None

    def previous_entry(self, epoch: int) -> EpochEntry | None:
        """Return the last entry below this epoch (Kafka: previousEntry, previousEpoch)."""
        position = bisect_left(self._epochs, epoch, 0, self._size)
        return self._entry(position - 1) if position else None

    def next_entry(self, epoch: int) -> EpochEntry | None:
        """Return the first entry above this epoch (Kafka: nextEpoch)."""
        position = bisect_right(self._epochs, epoch, 0, self._size)
        return self._entry(position) if position < self._size else None

    def epoch_for_offset(self, offset: int) -> int | None:
        """Return the epoch that wrote this offset; None below the first start (Kafka: epochForOffset)."""
        if offset >= self._latest_start:  # most ask about what the latest leader has written
            return self._latest
        writers = self._writers
        epoch = writers.get(offset >> self._shift) if writers else None
        return epoch if epoch is not None else self._find_writer(offset)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EndOffset:
        """Return the largest epoch known up to `epoch`, and the offset where it ends (Kafka: endOffsetFor, KIP-279).

        The latest epoch ends at `log_end_offset`. A request below the first epoch gets itself and the first
        start; a request above the latest, or to an empty history, UNDEFINED_END_OFFSET.
        """
        answers = self._answers
        if epoch in answers:
            return answers[epoch]
        return _build(EndOffset, (epoch, log_end_offset)) if epoch == self._latest else self._find_end(epoch)

    def entries_in_range(self, start_offset: int, end_offset: int) -> list[EpochEntry]:
        """Return the epochs that wrote [start_offset, end_offset), the first one cut to start at `start_offset`.

        Kafka: epochEntriesInRange. A negative `start_offset` cuts nothing.
        """
        return self.truncate_from_start(start_offset).truncate_to(end_offset).entries

    # --- what happens to it

    def assign(self, epoch: int, start_offset: int) -> EpochHistory:
        """Record that `epoch` leads from `start_offset` on (Kafka: assign).

        If `epoch` is the latest and started at or before `start_offset`, nothing changes. Otherwise the trailing
        entries that are not lower in both epoch and offset are removed, and the new entry is appended. Raises
        InvalidEpochEntryError.
        """
        if not (self._latest < epoch <= MAX_EPOCH and self._latest_start < start_offset <= MAX_OFFSET):
            return self._reassign(epoch, start_offset)
        # Without a copy where nothing follows this history yet: each size is given out once.
        epochs, starts, sizes, size = self._epochs, self._starts, self._sizes, self._size
        if next(sizes) != size:
            epochs, starts = self.columns
            sizes = count(size + 1)
        epochs.append(epoch)
        starts.append(start_offset)
        # As _fill does: without calls of functions of its own this takes half as long.
        history = _new(EpochHistory)
        history._epochs = epochs
        history._starts = starts
        history._sizes = sizes
        history._size = size + 1
        history._latest = epoch
        history._latest_start = start_offset
        history._answers = {}
        history._writers = None
        return history

    def assign_many(self, entries: Iterable[tuple[int, int]]) -> EpochHistory:
        """Assign one entry after another, or none if one is invalid (Kafka's assign(List) keeps those before it)."""
        return EpochHistory([*zip(*self.columns, strict=True), *entries])

    def truncate_to(self, end_offset: int) -> EpochHistory:
        """Remove the entries that start at or after `end_offset`, none if it is negative (Kafka: truncateFromEnd)."""
        kept = bisect_left(self._starts, end_offset, 0, self._size)
        if end_offset < 0 or kept == self._size:
            return self
        return self.of_rising(self._epochs[:kept], self._starts[:kept])

    def truncate_from_start(self, start_offset: int) -> EpochHistory:
        """Start the history at `start_offset`: the entry that covers it starts there, earlier ones are removed.

        Kafka: truncateFromStart. An offset below the first start changes nothing; the start is never lowered.
        """
        dropped = bisect_right(self._starts, start_offset, 0, self._size) - 1
        if dropped < 0:
            return self
        starts = self._starts[dropped : self._size]
        starts[0] = start_offset
        return self.of_rising(self._epochs[dropped : self._size], starts)

    def reconcile(
        self, batches: Iterable[tuple[int, int]], *, log_start_offset: int, log_end_offset: int
    ) -> EpochHistory:
        """Reconcile a history read back after a crash with the recovered log.

        `batches` are (partition leader epoch, base offset) of the batches that recovery read, in log order; the
        history is trusted for the rest of the log. Epochs that only the batches have are restored, entries that a
        batch contradicts are removed, and the history is cut to [log_start_offset, log_end_offset). Entries that no
        batch contradicts stay: compaction may have removed all that an epoch wrote. If epochs go back along the log,
        a lower one removes the higher ones before it, as `assign` did when it was written, unless this history has
        another epoch there: then the batch was damaged later.

        Kafka only adds epochs above the latest. It therefore keeps an entry whose truncation was never flushed if
        the log has since grown past it.
        """
        epochs, firsts, lasts = _runs(batches, lambda epoch, at: self.epoch_for_offset(at) in {None, epoch})

        def agrees(entry: EpochEntry) -> bool:
            earlier = bisect_left(firsts, entry.start_offset) - 1
            later = bisect_left(lasts, entry.start_offset)
            above_earlier = earlier < 0 or epochs[earlier] < entry.epoch
            return above_earlier and (later == len(epochs) or entry.epoch <= epochs[later])

        known = {entry.epoch: entry.start_offset for entry in self.entries if agrees(entry)}
        merged = sorted((dict(zip(epochs, firsts, strict=True)) | known).items())
        return EpochHistory(merged).truncate_to(log_end_offset).truncate_from_start(log_start_offset)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EpochHistory):
            return NotImplemented
        return self.columns == other.columns

    def __hash__(self) -> int:
        return hash(tuple(column.tobytes() for column in self.columns))

    def __reduce__(self) -> tuple[object, ...]:
        return EpochHistory.of_rising, self.columns

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        if self._size > _MOST_SHOWN:
            return f"EpochHistory({self._size:,} entries, the latest {self._epochs[-1]} from {self._starts[-1]} on)"
        return f"EpochHistory({list(zip(*self.columns, strict=True))})"

    def _fill(self, epochs: array[int], starts: array[int]) -> None:
        size = len(epochs)
        self._epochs = epochs
        self._starts = starts
        self._sizes = count(size)
        self._size = size
        self._latest, self._latest_start = (epochs[-1], starts[-1]) if size else (_NO_EPOCH, _NO_START)
        self._answers = {}
        self._writers = None

    def _reassign(self, epoch: int, start_offset: int) -> EpochHistory:
        """Assign what does not lie above all entries there are."""
        if epoch == self._latest and start_offset >= self._latest_start:
            return self
        epochs, starts = self.columns
        _put(epochs, starts, epoch, start_offset)
        return self.of_rising(epochs, starts)

    def _entry(self, position: int) -> EpochEntry:
        return EpochEntry(self._epochs[position], self._starts[position])

    def _find_end(self, epoch: int) -> EndOffset:
        """Answer for an epoch that is not the latest, and keep the answer unless too many were kept before."""
        if epoch > self._latest or epoch == UNDEFINED_EPOCH:
            return UNDEFINED_END_OFFSET
        position = bisect_right(self._epochs, epoch)
        known = self._epochs[position - 1] if position else epoch
        answer = _build(EndOffset, (known, self._starts[position]))
        if len(self._answers) < min(_ANSWERS_PER_ENTRY * self._size, _MOST_ANSWERS):
            self._answers[epoch] = answer
        return answer

    def _find_writer(self, offset: int) -> int | None:
        """Answer for an offset below the latest start, and keep the answer where it is that of the whole cell."""
        position = bisect_right(self._starts, offset)  # what lies beyond the size starts later
        if not position:
            return None
        epoch = self._epochs[position - 1]
        if self._size <= _MOST_IN_CELLS:
            self._keep_writer(offset, position, epoch)
        return epoch

    def _keep_writer(self, offset: int, position: int, epoch: int) -> None:
        """Keep who wrote the cell of an offset, if nobody else wrote in it."""
        if self._writers is None:
            span = self._latest_start - self._starts[0]
            self._shift = max(0, span.bit_length() - (_CELLS_PER_ENTRY * self._size).bit_length())
            self._writers = {}  # last: whoever sees it takes the shift
        shift = self._shift
        cell = index(offset) >> shift  # numpy's numbers may be too small for what follows
        if self._starts[position - 1] <= cell << shift and (cell + 1) << shift <= self._starts[position]:
            self._writers[cell] = epoch


def added_entries(history: EpochHistory, earlier: EpochHistory) -> list[tuple[int, int]] | None:
    """Return what a history has after the entries of an earlier one; None unless it is known to go on from that."""
    if history._epochs is not earlier._epochs or history._size < earlier._size:
        return None
    added = slice(earlier._size, history._size)
    return list(zip(history._epochs[added], history._starts[added], strict=True))


def _check(epoch: int, start_offset: int) -> None:
    if not (0 <= epoch <= MAX_EPOCH and 0 <= start_offset <= MAX_OFFSET):
        raise InvalidEpochEntryError(epoch, start_offset)


def _below(epochs: array[int], starts: array[int], epoch: int, start_offset: int) -> int:
    """Count the leading entries that lie below in both epoch and offset."""
    return min(bisect_left(epochs, epoch), bisect_left(starts, start_offset))


def _put(epochs: array[int], starts: array[int], epoch: int, start_offset: int) -> None:
    """Assign in place, while a history is being built."""
    _check(epoch, start_offset)
    if epochs and epoch == epochs[-1] and start_offset >= starts[-1]:
        return
    if epochs and not (epochs[-1] < epoch and starts[-1] < start_offset):
        kept = _below(epochs, starts, epoch, start_offset)
        del epochs[kept:], starts[kept:]
    epochs.append(epoch)
    starts.append(start_offset)


def _runs(
    batches: Iterable[tuple[int, int]], goes_back: Callable[[int, int], bool] = lambda _epoch, _at: False
) -> tuple[list[int], list[int], list[int]]:
    """Group batches into runs of one epoch: the epochs, their first and their last base offsets, all rising.

    A lower epoch takes the place of the higher ones before it where it `goes_back`, and is passed over elsewhere.
    """
    epochs: list[int] = []
    firsts: list[int] = []
    lasts: list[int] = []
    for epoch, base_offset in batches:
        if epochs and epoch == epochs[-1]:
            lasts[-1] = max(lasts[-1], base_offset)
        elif epoch > UNDEFINED_EPOCH and base_offset > (lasts[-1] if lasts else -1):
            if epochs and epoch < epochs[-1]:
                if not goes_back(epoch, base_offset):
                    continue
                kept = bisect_left(epochs, epoch)
                del epochs[kept:], firsts[kept:], lasts[kept:]
            epochs.append(epoch)
            firsts.append(base_offset)
            lasts.append(base_offset)
    return epochs, firsts, lasts
