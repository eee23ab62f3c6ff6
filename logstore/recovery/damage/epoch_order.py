"""Leader epochs of batches that cannot be: no checksum covers them, and readers refuse such batches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from logstore import offline
from logstore.batch.batch_attributes import NO_LEADER_EPOCH
from logstore.errors import LogStoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from epoch.history import EpochHistory
    from logstore.batch.any_batch import Batch
    from logstore.offline.log_file import LogFile

WRONG_EPOCH = "a batch's leader epoch fits neither the batches around it nor the history of epochs"
OLDER_BATCH = (
    f"{WRONG_EPOCH}, which is as it was last noted: the batch is damaged, or its segment was put back as it was earlier"
)


@dataclass(frozen=True, slots=True)
class EpochOrder:
    """What the leader epochs of a segment's batches have to fit."""

    history: EpochHistory
    """It counts, and may not know the latest epochs yet: there epochs do not fall."""
    log_start_offset: int
    """Nobody reads what lies below, of which the history knows nothing."""
    behind: int = NO_LEADER_EPOCH
    """That of the first batch of a later segment; -1 where it is not known."""
    reason: str = WRONG_EPOCH
    """What is wrong with a batch that does not fit."""

    def end_of_fitting(self, log: LogFile) -> int:
        """Return where the first batch begins whose leader epoch cannot be; the file's size where there is none."""
        latest, history = NO_LEADER_EPOCH, self.history
        for batch, following in pairwise(chain(_batches(log), [None])):
            epoch = NO_LEADER_EPOCH if batch is None else batch.leader_epoch
            if batch is None or epoch == NO_LEADER_EPOCH or batch.last_offset < self.log_start_offset:
                continue
            known = history.epoch_for_offset(max(batch.base_offset, self.log_start_offset))
            if epoch == known:  # none begins within a batch
                known = history.epoch_for_offset(batch.last_offset)
            is_open = known is None or known == history.latest_epoch  # the history need not have the last word there
            next_epoch = self.behind if following is None else following.leader_epoch
            is_between = max(latest, known or 0) <= epoch and not 0 <= next_epoch < epoch
            if epoch != known and not (is_open and is_between):
                return batch.position
            latest = epoch
        return log.size


def deny(epochs: Sequence[tuple[int, int]], history: EpochHistory, start: int, promised: int) -> bool:
    """Whether batches from `start` on, of which all below `promised` was promised, are of other epochs than a history.

    Of a segment's batches `epochs` has the first, the last, and those with which another epoch begins, each with an
    offset. The last epochs need not be in the history yet.
    """
    if not epochs:
        return False
    last_epoch, last_offset = epochs[-1]
    within = [*epochs, (last_epoch, min(last_offset, promised - 1))]  # what is of one epoch to the end reaches there
    return any(
        start <= offset < promised
        and NO_LEADER_EPOCH != epoch != known
        and known is not None
        and not epoch > known == history.latest_epoch
        for epoch, offset, known in ((epoch, offset, history.epoch_for_offset(offset)) for epoch, offset in within)
    )


def first_epoch(segments: Iterable[Path]) -> int:
    """Return the leader epoch of the first batch of segments in a row; -1 without one. Raises OSError."""
    for path in segments:
        with offline.log_file.LogFile.open(path) as log:
            if log.size:
                return next((batch.leader_epoch for batch in _batches(log)), NO_LEADER_EPOCH)
    return NO_LEADER_EPOCH


def _batches(log: LogFile) -> Iterator[Batch]:
    """Give those before the first that is torn, or has no header: that is found by other means."""
    try:
        yield from log.batches()
    except LogStoreError:
        return
