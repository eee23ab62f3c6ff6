"""A log's leader epochs as it is recovered: its checkpoint, held against its batches and what was noted elsewhere."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

from epoch.base.resource_limits import ignoring_full_disk
from epoch.cache import LeaderEpochFileCache
from epoch.checkpoint import LEADER_EPOCH_CHECKPOINT, LeaderEpochCheckpoint
from epoch.entry import EpochEntry
from epoch.errors import CheckpointError
from epoch.history import MAX_EPOCH, MAX_OFFSET, EpochHistory
from logstore import offline
from logstore.batch.batch_attributes import NO_LEADER_EPOCH
from logstore.file_name import FileKind, file_name
from logstore.files.only_copy.promised_offsets import UNKNOWN_EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from epoch.filesystem import FileSystem
    from logstore.files.only_copy.promised_offsets import SmallFiles
    from logstore.recovery.recovery_report import RecoveryReport
    from logstore.recovery.segment_ends import LastBatch


def next_epoch(found: Iterable[int], kept: EpochHistory, *, may_lack: bool) -> int | None:
    """Return the lowest epoch to lead in from now on; None where the latest one goes on.

    `found` are the epochs that the checkpoint had or should have had, `kept` the history of what is left. Where that
    `may_lack` what readers have seen, no epoch that any of them may have seen goes on: its entry was on stable storage
    before its first batch was written. Otherwise an epoch that was begun, and has no batch yet, goes on.
    """
    latest = -1 if kept.latest_epoch is None else kept.latest_epoch
    last = max([latest, *found])
    if last < 0:
        return None
    if may_lack:
        return min(last + 1, MAX_EPOCH)
    return last if last > latest else None


class RecoveredEpochs:
    """Reads the checkpoint as it was before, and makes it agree with the log as it is at last."""

    def __init__(self, directory: Path, filesystem: FileSystem, noted: SmallFiles, report: RecoveryReport) -> None:
        """Read the checkpoint of a log, of which so much was `noted` elsewhere.

        One that cannot be read is rebuilt from all batches (Kafka refuses to start), and is in the `report`.
        """
        self._directory = directory
        self._noted_epoch = noted.latest_epoch
        self._report = report
        self._checkpoint = LeaderEpochCheckpoint(directory, filesystem)
        self.before: EpochHistory = self._read()
        """What the checkpoint said; nothing where it cannot be read."""
        self.is_certain: bool = bool(self.before) and noted.certifies(self.before)
        """Whether that is what was noted of it: what contradicts it, and was promised, is of before or damaged."""

    def _read(self) -> EpochHistory:
        report = self._report
        try:
            report.epochs_before = self._checkpoint.read()
        except CheckpointError as error:
            report.damaged_epoch_checkpoint = str(error)
            return EpochHistory()
        latest = max((entry.epoch for entry in report.epochs_before), default=UNKNOWN_EPOCH)
        if latest < self._noted_epoch:
            found = f"its latest epoch is {latest}" if report.epochs_before else "it has no epochs"
            path = self._directory / LEADER_EPOCH_CHECKPOINT
            report.damaged_epoch_checkpoint = f"{path}: {found}, and epoch {self._noted_epoch} had begun"
        return EpochHistory(report.epochs_before)

    def for_checks(self, base_offsets: Sequence[int]) -> EpochHistory:
        """Return the history against which each batch of a log with these segments is checked.

        That is the checkpoint's, which no checksum covers: where two batches in a row contradict it, and not each
        other, it is damaged, and they show it. One alone may have a flipped bit.
        """
        ends = [each for each in self._of_all_batches(base_offsets) if each[0] != NO_LEADER_EPOCH]
        found = ends[::2]  # of each batch the first offset
        wrong = [self._denies(*each) for each in found]
        pairs = (
            before
            for (before, after), is_wrong in zip(pairwise(found), pairwise(wrong), strict=True)
            if all(is_wrong) and before[0] <= after[0]
        )
        first = None if self.is_certain else next(pairs, None)
        if first is None:
            return self.before
        self._report.damaged_epoch_checkpoint = self._says_otherwise(*first)
        return self.before.reconcile(ends, log_start_offset=0, log_end_offset=MAX_OFFSET)

    def _denies(self, epoch: int, offset: int) -> bool:
        """Whether the checkpoint has another epoch there; later ones than it knows may be missing in it."""
        known = self.before.epoch_for_offset(offset)
        return known is not None and epoch != known and not (epoch > known == self.before.latest_epoch)

    def reconciled(
        self,
        base_offsets: Sequence[int],
        found: Sequence[tuple[int, int]],
        last: LastBatch | None,
        *,
        start: int,
        end: int,
        promised: int,
        begins_anew: bool,
    ) -> EpochHistory:
        """Return the history of a log with these segments, from `start` to `end`.

        `found` are epochs and offsets of batches that were recovered, and `last` is the last batch of a log that was
        closed in order. Nothing of the checkpoint counts where the log `begins_anew`. Where batches deny it below the
        offset up to which all was `promised`, it is damaged, or they are of before: the report tells of that.
        """
        history = EpochHistory() if begins_anew else self.before
        contradiction = self._contradiction(history, base_offsets, last)
        if self._report.damaged_epoch_checkpoint or contradiction:
            found = self._of_all_batches(base_offsets)
        before = history.truncate_to(end).truncate_from_start(start)
        reconciled = history.reconcile(found, log_start_offset=start, log_end_offset=end)
        if contradiction and reconciled != before:  # else the others agree with it, and that batch is damaged
            self._report.damaged_epoch_checkpoint = contradiction
        denying = next((each for each in _denying(before, reconciled, found) if each[1] < promised), None)
        if denying is not None and not self._report.damaged_epoch_checkpoint:
            self._report.damaged_epoch_checkpoint = self._says_otherwise(*denying)
        return reconciled

    def open(self, history: EpochHistory, end: int, *, may_lack: bool, is_replicated: bool) -> LeaderEpochFileCache:
        """Bring the checkpoint up to date; an epoch that is only reserved is written before its first batch is.

        One is reserved in a log that is not replicated, and that `may_lack` what readers have seen.
        """
        report, before = self._report, self._report.epochs_before
        cache = LeaderEpochFileCache(history, self._checkpoint)
        after = history.entries
        found = [*(entry.epoch for entry in before), self._noted_epoch]
        epoch = None if is_replicated else next_epoch(found, history, may_lack=may_lack)
        if epoch is not None:
            reserved = EpochEntry(epoch, end)
            cache.reserve(reserved)
            if before == [*after, reserved]:
                after = before
        report.epochs_after = after
        if after != before or report.damaged_epoch_checkpoint:
            with ignoring_full_disk():  # it is written before the next batch is, or found as it was by the next start
                cache.rewrite()
        return cache

    def _contradiction(self, history: EpochHistory, base_offsets: Sequence[int], last: LastBatch | None) -> str:
        """Describe a history by which the last batch was written in an epoch that no batch has.

        A replica with such a history says that it has what no leader has written. Where batches have that epoch, and
        later ones an earlier epoch, Kafka's history is the same.
        """
        claimed = None if last is None else history.epoch_for_offset(last.base_offset)
        if last is None or claimed is None or not 0 <= last.epoch < claimed:
            return ""
        if self._wrote(claimed, history, base_offsets):
            return ""
        return self._says_otherwise(last.epoch, last.base_offset)

    def _says_otherwise(self, epoch: int, offset: int) -> str:
        path, claimed = self._directory / LEADER_EPOCH_CHECKPOINT, self.before.epoch_for_offset(offset)
        return f"{path}: epoch {claimed} wrote offset {offset:,}, and the batch there has epoch {epoch}"

    def _wrote(self, epoch: int, history: EpochHistory, base_offsets: Sequence[int]) -> bool:
        """Whether any batch is of an epoch of the history: mostly the one where it begins is."""
        entry = history.entry_for(epoch)
        first = 0 if entry is None else max(bisect_right(base_offsets, entry.start_offset) - 1, 0)
        paths = (self._directory / file_name(FileKind.LOG, each) for each in base_offsets[first:])
        return any(
            (columns.leader_epoch == epoch).any()
            for path in paths
            for columns in offline.header_scan.scan_headers(path)
        )

    def _of_all_batches(self, base_offsets: Sequence[int]) -> list[tuple[int, int]]:
        """Return the epochs of all batches, each at its first offset and at its last one."""
        epochs: list[tuple[int, int]] = []
        for base_offset in base_offsets:
            for columns in offline.header_scan.scan_headers(self._directory / file_name(FileKind.LOG, base_offset)):
                ends = zip(columns.base_offset.tolist(), columns.last_offset.tolist(), strict=True)
                each_epoch = zip(columns.leader_epoch.tolist(), ends, strict=True)
                epochs += ((epoch, offset) for epoch, both in each_epoch for offset in both)
        return epochs


def _denying(
    before: EpochHistory, reconciled: EpochHistory, found: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Give epochs and offsets of batches by which other epochs wrote there than by the history before."""
    for epoch, offset in found:
        if before.epoch_for_offset(offset) not in {None, epoch} and epoch != NO_LEADER_EPOCH:
            yield epoch, offset
    for entry in before.entries:
        if reconciled.entry_for(entry.epoch) is None:
            known = reconciled.epoch_for_offset(entry.start_offset)
            yield NO_LEADER_EPOCH if known is None else known, entry.start_offset
