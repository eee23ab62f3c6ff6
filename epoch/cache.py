"""The leader epochs of one partition, shared by threads and kept in the partition's checkpoint file."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final, NoReturn, Self

from epoch.base.forked import RefusedLock, detach_after_fork
from epoch.checkpoint import LeaderEpochCheckpoint
from epoch.entry import EndOffset
from epoch.errors import InheritedError
from epoch.filesystem import REAL, FileSystem
from epoch.history import EpochHistory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from epoch.entry import EpochEntry

_build: Final = tuple.__new__  # as the history does


class LeaderEpochFileCache:
    """A partition's epoch history, in memory or over its `leader-epoch-checkpoint` (Kafka's class of that name).

    All methods are thread-safe. Reading takes no lock: a change replaces the `EpochHistory` by a new one.

    `assign` returns once the change is on disk. Truncations only change memory and leave the file `pending` until
    `flush`, or until the next `assign`, so that no record ever follows an entry that should be gone. A file that a
    crash left behind is completed from the log by `EpochHistory.reconcile`.

    If an exception interrupts a change, for example one raised by a signal handler, memory holds the history from
    before or after the change. If it holds the one from after, the next `flush` or `assign` writes it to the file.
    A forked process can read, but cannot change a cache that has a file (InheritedError).

    >>> cache = LeaderEpochFileCache()
    >>> cache.assign(0, 0), cache.assign(2, 40), cache.assign(2, 60)
    (True, True, False)
    >>> cache.end_offset_for(1, log_end_offset=100)
    EndOffset(epoch=0, end_offset=40)
    """

    def __init__(self, history: EpochHistory | None = None, checkpoint: LeaderEpochCheckpoint | None = None) -> None:
        self._history = history or EpochHistory()
        self._checkpoint = checkpoint
        self._change_lock: Lock | RefusedLock = Lock()
        # Held while the file is written and taken before _change_lock, so that writes happen in order.
        self._write_lock: Lock | RefusedLock = Lock()
        # How often memory changed; the change that the file must reach; the change that it has reached.
        self._version = self._wanted = self._written = 0
        self._reserved: EpochEntry | None = None
        detach_after_fork(self)

    def __repr__(self) -> str:
        return f"LeaderEpochFileCache({self._history!r})"

    @classmethod
    def open(cls, partition_dir: Path, filesystem: FileSystem = REAL) -> Self:
        """Load the checkpoint file of a partition directory; one that is missing counts as empty.

        If the file's entries do not rise, they are repaired in memory and the file is not changed. Raises OSError,
        CheckpointError.
        """
        checkpoint = LeaderEpochCheckpoint(partition_dir, filesystem)
        return cls(checkpoint.read_history(), checkpoint)

    # --- what the history says

    @property
    def history(self) -> EpochHistory:
        """The history as it is at this moment; it does not change when the cache does."""
        return self._history

    @property
    def entries(self) -> list[EpochEntry]:
        """All entries, the earliest first (Kafka: epochEntries)."""
        return self._history.entries

    @property
    def earliest(self) -> EpochEntry | None:
        """The first entry (Kafka: earliestEntry)."""
        return self._history.earliest

    @property
    def latest(self) -> EpochEntry | None:
        """The last entry (Kafka: latestEntry)."""
        return self._history.latest

    @property
    def latest_epoch(self) -> int | None:
        """The last entry's epoch (Kafka: latestEpoch)."""
        return self._history.latest_epoch

    @property
    def previous_epoch(self) -> int | None:
        """The epoch before the latest one (Kafka: previousEpoch)."""
        return self._history.previous_epoch

    @property
    def reserved(self) -> EpochEntry | None:
        """What `reserve` keeps for the next leader; None where it keeps nothing, or that leads already."""
        reserved = self._reserved
        return None if reserved is None or reserved.epoch <= self._history._latest else reserved

    @property
    def last_reserved(self) -> EpochEntry | None:
        """What `reserve` keeps, also where that leads already: reserved again once its leader's entry is removed."""
        return self._reserved

    def entry_for(self, epoch: int) -> EpochEntry | None:
        """Return the entry of exactly this epoch (Kafka: epochEntry)."""
        return self._history.entry_for(epoch)

    def previous_entry(self, epoch: int) -> EpochEntry | None:
        """Return the last entry below this epoch (Kafka: previousEntry, previousEpoch)."""
        return self._history.previous_entry(epoch)

    def next_entry(self, epoch: int) -> EpochEntry | None:
        """Return the first entry above this epoch (Kafka: nextEpoch)."""
        return self._history.next_entry(epoch)

    def epoch_for_offset(self, offset: int) -> int | None:
        """Return the epoch that wrote this offset; None below the first start (Kafka: epochForOffset)."""
        history = self._history
        # What the history does itself: to call it takes as long again, here and below.
        if offset >= history._latest_start:
            return history._latest
        writers = history._writers
        epoch = writers.get(offset >> history._shift) if writers else None
        return epoch if epoch is not None else history._find_writer(offset)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EndOffset:
        """Return the largest epoch known up to `epoch`, and where it ends: see `EpochHistory.end_offset_for`."""
        history = self._history
        answers = history._answers
        if epoch in answers:
            return answers[epoch]
        return _build(EndOffset, (epoch, log_end_offset)) if epoch == history._latest else history._find_end(epoch)

    def entries_in_range(self, start_offset: int, end_offset: int) -> list[EpochEntry]:
        """Return the epochs that wrote [start_offset, end_offset) (Kafka: epochEntriesInRange)."""
        return self._history.entries_in_range(start_offset, end_offset)

    def __len__(self) -> int:
        return len(self._history)

    # --- what happens to it

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Record that `epoch` leads from `start_offset` on; return whether that changed anything (Kafka: assign).

        On return the file holds the change, and any truncation before it. Raises InvalidEpochEntryError. Raises
        OSError if writing failed: memory has changed by then, and the next `flush` tries again.
        """
        with self._change_lock:
            before = self._history
            after = before.assign(epoch, start_offset)
            changed = after is not before
            if changed:
                self._put(after, wanted=True)
        if self._written < self._wanted:  # pending, without a call
            self._write()
        return changed

    def assign_many(self, entries: Iterable[tuple[int, int]]) -> None:
        """Assign one entry after another and write the file once (Kafka: assign(List)).

        If one entry is invalid, none is assigned. Raises InvalidEpochEntryError. Raises OSError if writing failed:
        memory has changed by then, and the next `flush` tries again.
        """
        entries = list(entries)
        with self._change_lock:
            if entries:
                self._put(self._history.assign_many(entries), wanted=True)
        if self.pending:
            self._write()

    def truncate_to(self, end_offset: int) -> bool:
        """Remove entries that start at or after `end_offset`; return whether any did (Kafka: truncateFromEnd)."""
        with self._change_lock:
            return self._replace(self._history.truncate_to(end_offset), wanted=True)

    def truncate_from_start(self, start_offset: int) -> bool:
        """Remove what lies before `start_offset`; return whether the history began at or before it.

        Kafka: truncateFromStart.
        """
        with self._change_lock:
            return self._replace(self._history.truncate_from_start(start_offset), wanted=True)

    def clear(self) -> None:
        """Remove all entries, in memory only (Kafka: clear)."""
        with self._change_lock:
            self._put(EpochHistory(), wanted=False)

    def clear_and_flush(self) -> None:
        """Remove all entries, in the file too (Kafka: clearAndFlush). Raises OSError."""
        with self._change_lock:
            self._put(EpochHistory(), wanted=True)
        self._write()

    def reserve(self, entry: EpochEntry | None) -> None:
        """Keep an epoch, and the offset that it is to begin at, for the next leader; with None keep none any more.

        The history does not have it before it is assigned. The file has it as its last entry as long as it is above the
        others, from the next `flush` or `assign` on: there it outlives those that a truncation removes.
        """
        with self._change_lock:
            if entry != self._reserved:
                self._reserved = entry
                self._put(self._history, wanted=True)

    def restore(self, history: EpochHistory, reserved: EpochEntry | None = None) -> None:
        """Go back to what was, and what was kept for the next leader, before changes that are not to count.

        The file follows as after truncations.
        """
        with self._change_lock:
            if history is not self._history or reserved != self._reserved:
                self._reserved = reserved
                self._put(history, wanted=True)

    def detach(self) -> None:
        """Stop changing the file, and do not wait for other threads: called in a forked process."""
        if self._checkpoint is None:
            self._change_lock, self._write_lock = Lock(), Lock()
        else:
            self._change_lock = self._write_lock = RefusedLock(self._refuse)

    def close(self, refuse: Callable[[], NoReturn]) -> None:
        """Stop changing the file, which may have another owner now: every attempt to change it calls `refuse`."""
        if self._checkpoint is not None:
            self._change_lock = self._write_lock = RefusedLock(refuse)

    @property
    def pending(self) -> bool:
        """Whether a change waits to be written to the file."""
        return self._written < self._wanted

    def flush(self) -> None:
        """Write pending changes to the file. Raises OSError; the changes then stay pending.

        If the partition directory no longer exists, nothing is written.
        """
        if self._checkpoint is None or not self.pending or self._checkpoint.path.parent.is_dir():
            self._write()

    def rewrite(self) -> None:
        """Write the file anew, whatever it holds now. Raises OSError; the next `flush` or `assign` then tries again."""
        with self._change_lock:
            self._put(self._history, wanted=True)
        self._write()

    def _replace(self, history: EpochHistory, *, wanted: bool) -> bool:
        changed = history is not self._history
        if changed:
            self._put(history, wanted=wanted)
        return changed

    def _put(self, history: EpochHistory, *, wanted: bool) -> None:
        # Last, so that nothing is in memory that is not known to be wanted in the file.
        self._version += 1
        if wanted and self._checkpoint is not None:
            self._wanted = self._version
        self._history = history

    def _write(self) -> None:
        """Bring the file to what memory holds now, unless another thread has already."""
        with self._write_lock:
            with self._change_lock:
                history, version = self._with_reserved(), self._version
            if self._checkpoint is not None and self.pending:
                self._checkpoint.write_history(history)
                self._written = version

    def _with_reserved(self) -> EpochHistory:
        reserved = self.reserved
        return self._history if reserved is None else self._history.assign(*reserved)

    def _refuse(self) -> NoReturn:
        place = self._checkpoint.path if self._checkpoint is not None else "memory"
        raise InheritedError(f"{place}: the epochs belong to the parent process; change them there")
