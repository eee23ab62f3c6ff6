"""The sync of a segment that the log has gone on behind (Kafka: the flush that UnifiedLog.roll schedules)."""

from __future__ import annotations

import time
from _thread import start_new_thread
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from logstore.errors import LogStoreError
from logstore.log.state.log_guard import CLOSED

if TYPE_CHECKING:
    from collections.abc import Callable

    from logstore.log.state.log_contents import LogContents
    from logstore.log.state.log_environment import LogEnvironment
    from logstore.log.state.log_guard import LogGuard
    from logstore.log.state.lone_sync import LoneSync
    from logstore.segment.live_segment import LiveSegment


class _Roll(NamedTuple):
    """A roll that is not complete on the disk."""

    old: LiveSegment
    """The segment that is to be synced."""
    hidden: LiveSegment
    """The one that follows it, without its name until then."""
    has_snapshot: bool
    """Whether there is a snapshot of producers where it begins, to be synced too."""
    start: float
    """When that was, by `time.perf_counter`."""


class LateSync:
    """Syncs a segment in a thread of its own while appends go on in the next one, which gets its name after that.

    So whatever a crash leaves, no segment with a name follows one that has lost its end. A log has one such segment at
    most: all that changes more than its end, the next roll too, ends the sync first, and waits for the disk if need be.
    """

    def __init__(
        self,
        environment: LogEnvironment,
        contents: LogContents,
        guard: LogGuard,
        lone_sync: LoneSync,
        change: Callable[[Callable[[], None]], None],
        finish: Callable[[int, float], None],
    ) -> None:
        """Sync nothing yet.

        `change` calls what changes the log, with its lock held. `finish` is called with the offset up to which the log
        is synced, and when that began.
        """
        self._directory = environment.directory
        self._filesystem = environment.filesystem
        self._contents = contents
        self._guard = guard
        self._lone_sync = lone_sync
        self._change = change
        self._finish = finish
        self._roll: _Roll | None = None
        self._synced: _Roll | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether the last segment has no name yet."""
        return self._roll is not None

    def begin(self, old: LiveSegment, hidden: LiveSegment, *, has_snapshot: bool) -> None:
        """Note, before the log has it, that a segment follows one that is not synced."""
        self._roll = _Roll(old, hidden, has_snapshot, time.perf_counter())

    def start(self) -> None:
        """Sync it in a thread; where the system allows no more, at once. Raises OSError then."""
        try:
            start_new_thread(self._work, ())
        except RuntimeError:
            self.end()

    def sync(self) -> None:
        """Bring to stable storage what the hidden segment follows, if there is one. Raises OSError."""
        if self._roll is not None:
            self._lone_sync.do(self._bring_down)

    def end(self) -> None:
        """Sync it, and give the hidden segment its name. For whoever holds the guard's lock. Raises OSError."""
        roll = self._roll
        if roll is None:
            return
        if roll.hidden is self._contents.segments.active:  # and no roll that was interrupted
            self.sync()
            self._contents.epochs.flush()
            roll.hidden.show()
            self._finish(roll.hidden.base_offset, roll.start)
        self._roll = self._synced = None

    def _bring_down(self) -> None:
        roll = self._roll
        if roll is None or roll is self._synced:
            return
        for step in (roll.old.file.flush, roll.old.indexes.flush, self._sync_names):
            if self._guard.state is CLOSED:  # files of whoever has the directory by now
                return
            step()
        self._synced = roll

    def _sync_names(self) -> None:
        roll = self._roll
        if roll is not None and roll.has_snapshot:
            self._contents.producers.sync_snapshot(roll.hidden.base_offset)
        self._filesystem.fsync_directory(self._directory)

    def _work(self) -> None:
        with suppress(OSError, LogStoreError):  # it has poisoned the log, or waits for who comes next
            self.sync()
            with self._guard.lock:
                self._change(self.end)
