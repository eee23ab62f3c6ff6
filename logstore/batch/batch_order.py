"""What no checksum covers of a batch, its offset and leader epoch, held against the batches before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from epoch.history import MAX_EPOCH
from logstore.batch.batch_attributes import NO_LEADER_EPOCH
from logstore.batch.layout import MAGIC, header_of
from logstore.errors import CorruptBatchError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from logstore.batch.any_batch import Batch
    from logstore.batch.columns import BatchColumns

_PLACE: Final = header_of("base_offset", "leader_epoch", "magic")
_unpack: Final = _PLACE.unpack_from
PLACE_SIZE: Final = _PLACE.size
"""Bytes of a header that show a batch's place."""
NO_OFFSET: Final = (1 << 63) - 1
"""Beyond all."""
ADVICE: Final = "take the partition from another replica"


class NextBatch(NamedTuple):
    """What lies behind a batch: another one, or the end of what is read."""

    base_offset: int
    """No batch before it reaches that."""
    epoch: int = MAX_EPOCH
    """No batch before it has a later one."""


_build: Final = tuple.__new__  # half the cost of NextBatch(...)
UNKNOWN_NEXT: Final = NextBatch(NO_OFFSET)
"""Where nothing is known of what follows."""


class Surroundings:
    """What is known around the bytes at hand, and asked only where it matters; nothing, unless a log provides it."""

    __slots__ = ()

    @property
    def file(self) -> str | None:
        """Name the file that the bytes are in."""
        return None

    def ensure_begin(self, offset: int, base_offset: int) -> None:
        """See that the batch that was found for `offset`, and begins elsewhere, is the first that holds it or a later.

        Raises CorruptBatchError, and what `read_batches` raises.
        """

    def next_batch(self) -> NextBatch:
        """Return the place of the batch that follows the last one."""
        return UNKNOWN_NEXT

    def end(self) -> NextBatch:
        """Return the offset and epoch that none of the batches reaches."""
        return UNKNOWN_NEXT

    def is_last(self, base_offset: int, last_offset: int, epoch: int) -> bool:
        """Whether a batch at the end of the bytes is known to be in its place, with none behind it."""
        del base_offset, last_offset, epoch
        return False

    def epoch_at(self, offset: int) -> int | None:
        """Return the leader epoch that wrote an offset, where it is known without reading batches."""
        del offset
        return None

    def onward(self) -> tuple[memoryview, Surroundings] | None:
        """Return the bytes at hand with all that follow them and are there too, and what lies around those."""
        return None


NO_SURROUNDINGS: Final = Surroundings()


def next_batch(data: memoryview, position: int) -> NextBatch:
    """Read the place of the batch at `position`; nothing is known of it where its header is not there."""
    if len(data) - position < PLACE_SIZE:
        return UNKNOWN_NEXT
    base_offset, epoch, magic = _unpack(data, position)
    return _build(NextBatch, (base_offset, epoch if magic == MAGIC and epoch >= 0 else MAX_EPOCH))


def has_too_many(batch: Batch) -> bool:
    """Whether a batch has more records than its header has offsets for."""
    return batch.magic == MAGIC and batch.record_count > batch.last_offset - batch.base_offset + 1


class BatchOrder:
    """Follows batches along a log: offsets rise, and leader epochs do not fall.

    Compaction leaves gaps and elections begin epochs; but so would a flipped bit. Where a batch does not just go on
    where the one before it ended, what is behind it must leave it room as well.
    """

    __slots__ = ("_has_epochs", "epoch", "last_offset", "reached")

    def __init__(self, *, has_epochs: bool = True) -> None:
        """Begin somewhere in a log; without `has_epochs` only offsets count."""
        self._has_epochs = has_epochs
        self.last_offset: int = -1
        """Of the batch before; -1 at the first."""
        self.epoch: int = NO_LEADER_EPOCH
        """The latest of the batches before."""
        self.reached: int = -1
        """The highest offset of the records of batches that have more than their headers have offsets for: who reads
        on passes over what is not above it, as Kafka's consumer does."""

    def take(self, batch: Batch, around: Surroundings) -> None:
        """Go on behind a batch. Raises CorruptBatchError where it cannot stand in its place."""
        base_offset, epoch = batch.base_offset, batch.leader_epoch
        if base_offset != self.last_offset + 1 or epoch != self.epoch:
            end = batch.position + batch.size
            # A read at the end of a log is of one batch: that takes a quarter of the time.
            if not (
                end == len(batch.data)
                and base_offset > self.last_offset
                and epoch >= self.epoch
                and around.is_last(base_offset, batch.last_offset, epoch)
            ):
                self._ensure_in_place(batch, end, around)
            self.epoch = max(self.epoch, epoch)
        self.last_offset = batch.last_offset

    def _ensure_in_place(self, batch: Batch, end: int, around: Surroundings) -> None:
        follower = next_batch(batch.data, end) if end < len(batch.data) else around.next_batch()
        fault = self._fault(batch, follower, around)
        if fault:
            raise CorruptBatchError(
                fault, file=batch.file, position=batch.position, offset=batch.base_offset, advice=ADVICE
            )

    def _fault(self, batch: Batch, follower: NextBatch, around: Surroundings) -> str:
        base_offset, last_offset, epoch = batch.base_offset, batch.last_offset, batch.leader_epoch
        if base_offset <= self.last_offset:
            return f"the batch begins below {self.last_offset + 1:,}, where the one before it ends"
        (next_offset, next_epoch), (end_offset, end_epoch) = follower, around.end()
        if last_offset >= next_offset or last_offset >= end_offset:
            lowest = min(next_offset, end_offset)
            return f"the batch ends at {last_offset:,}, and what follows it begins at {lowest:,}"
        if epoch == NO_LEADER_EPOCH or not self._has_epochs:
            return ""
        if epoch < self.epoch or epoch < 0:
            return f"the batch has leader epoch {epoch:,}, below that of one before it"
        if epoch > next_epoch or epoch > end_epoch:
            return f"the batch has leader epoch {epoch:,}, and what follows it {min(next_epoch, end_epoch):,}"
        for offset in (base_offset, last_offset) if epoch != self.epoch else ():  # what was deleted has no history
            written_in = around.epoch_at(offset)
            if written_in not in {None, epoch}:
                return f"the batch has leader epoch {epoch:,}, and by the history of epochs {written_in:,} wrote there"
        return ""

    def sound(self, columns: BatchColumns, data: memoryview, around: Surroundings) -> BatchColumns:
        """Go on behind the batches before the first that has a wrong checksum or cannot stand in its place."""
        if not len(columns):
            return columns
        sound = columns.crc_valid & self._in_place(columns, data, around)
        unsound = (~sound).nonzero()[0]
        kept = columns.first(int(unsound[0])) if len(unsound) else columns
        if len(kept):
            self.last_offset = int(kept.last_offset[-1])
            self.epoch = max(self.epoch, int(kept.leader_epoch.max()))
        return kept

    def _in_place(self, columns: BatchColumns, data: memoryview, around: Surroundings) -> NDArray[np.bool_]:
        import numpy as np  # noqa: PLC0415  where batches are read one by one it is not loaded

        base, last, epoch = columns.base_offset, columns.last_offset, columns.leader_epoch
        before = np.concatenate(([self.last_offset], last[:-1]))
        epoch_before = np.maximum.accumulate(np.concatenate(([self.epoch], epoch[:-1])))
        goes_on: NDArray[np.bool_] = (base == before + 1) & (epoch == epoch_before)
        if goes_on.all():
            return goes_on
        stop, end = columns.next_position, around.end()
        follower = next_batch(data, stop) if stop < len(data) else around.next_batch()
        # As `next_batch` reads it: a header before Kafka 0.11 tells where its batch ends.
        base_after = np.append(np.where(columns.magic == MAGIC, base, last)[1:], follower.base_offset)
        epoch_after = np.append(np.where(epoch[1:] >= 0, epoch[1:], MAX_EPOCH), follower.epoch)
        in_order = (base > before) & (last < np.minimum(base_after, end.base_offset))
        in_epoch = (epoch >= np.maximum(epoch_before, 0)) & (epoch <= np.minimum(epoch_after, end.epoch))
        for row in (epoch != epoch_before).nonzero()[0].tolist():
            known = {around.epoch_at(int(base[row])), around.epoch_at(int(last[row]))}
            in_epoch[row] &= known <= {None, int(epoch[row])}
        in_place: NDArray[np.bool_] = goes_on | (in_order & (in_epoch | (epoch == NO_LEADER_EPOCH)))
        return in_place
