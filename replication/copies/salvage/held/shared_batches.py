"""Which records of one copy another copy holds too: compared by content, while both are read forward."""

from collections import deque
from collections.abc import Set as AbstractSet

from logstore.batch.any_batch import Batch
from logstore.batch.record import Record
from replication.copies.salvage.sound_copy import SoundCopy


class SharedBatches:
    """Reads a copy beside another one, whose batches it is asked for in order."""

    def __init__(self, copy: SoundCopy, start: int) -> None:
        self._batches = copy.batches(start)
        self._window: deque[Batch] = deque()
        """Batches that the next one asked for may share records with."""

    def holds(self, batch: Batch) -> bool:
        """Whether the copy has the same batch, byte for byte."""
        found = self._beside(batch)
        return len(found) == 1 and _identity(found[0]) == _identity(batch)

    def records(self, batch: Batch) -> AbstractSet[Record]:
        """Return the copy's records at the offsets of a batch, which compaction may have put into other batches."""
        beside = (each for each in self._beside(batch) if each.leader_epoch == batch.leader_epoch)
        return {record for each in beside for record in each.records()}

    def _beside(self, batch: Batch) -> list[Batch]:
        while self._window and self._window[0].last_offset < batch.base_offset:
            self._window.popleft()
        while not self._window or self._window[-1].last_offset < batch.last_offset:
            following = next(self._batches, None)
            if following is None:
                break
            if following.last_offset >= batch.base_offset:
                self._window.append(following)
        return [each for each in self._window if each.base_offset <= batch.last_offset]


def _identity(batch: Batch) -> tuple[int, ...]:
    """Return what distinguishes a batch from every other: the checksum is of all else."""
    return batch.base_offset, batch.last_offset, batch.leader_epoch, batch.size, batch.crc
