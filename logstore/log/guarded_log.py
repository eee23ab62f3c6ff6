"""What is left of a log when a call on it fails, or is broken off by whatever is raised in the middle of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn, TypeVar

from epoch.filesystem import REAL, FileSystem
from epoch.forked import RefusedLock, disown_after_fork
from epoch.history import EpochHistory
from epoch.resource_limits import ensure_room, is_limit, name_memory
from logstore.errors import (
    LogClosedError,
    LogPoisonedError,
    LogStoreError,
    ReentrantCallError,
    complete,
    inherited_log,
)
from logstore.file_name import FileKind, file_name
from logstore.log.log_observer import LogObserver
from logstore.log.log_reader import ClosedReader
from logstore.log.log_state import LogState
from logstore.log.readable_log import ReadableLog
from logstore.recovery.log_loader import LoadedLog
from logstore.segment.segment_file import OUT_OF_SPACE, is_passing

T = TypeVar("T")

# An enum looks its members up at each use, and appends use these twice.
OPEN: Final = LogState.OPEN
ADDING: Final = LogState.ADDING
CHANGING: Final = LogState.CHANGING
REMOVING: Final = LogState.REMOVING


class GuardedLog(ReadableLog):
    """A log that each call changes as a whole or not at all; where neither is certain, it is poisoned.

    The disk is not all that can fail. A signal handler raises KeyboardInterrupt or a timeout after any call and at
    any turn of a loop, and memory can end anywhere. So each call says by `_state` what it is about to do, before its
    first step and within a `try`, and the log is `_settle`d where that does not come to its end; if even that is
    broken off, by the next call.
    """

    def __init__(
        self, directory: Path, loaded: LoadedLog, filesystem: FileSystem = REAL, observer: LogObserver | None = None
    ) -> None:
        """Take over what `load_log` found."""
        super().__init__(directory, loaded)
        self._filesystem = filesystem
        self._observer = observer
        self._failure: OSError | None = None
        self._is_broken_off = False
        self._history_before: tuple[EpochHistory, int] | None = None
        """The leader epochs before a call, and where the log ended: who led counts from the batch on that it wrote."""
        self._begun_segment = -1
        """Base offset of the segment that a call began last, and may not have come to use."""
        self._current_epoch = -1
        """Batches of this epoch change nothing in the history of epochs; -1 where that is to be looked at."""
        disown_after_fork(self)

    @property
    def recovery_advice(self) -> str:
        """How to go on where the log is poisoned."""
        return "go on with `log = log.recover()`; or `abandon()` it, and open the log again"

    def disown(self) -> None:
        """Take nothing more, and leave everything as it is: for a forked process, whose copy of the log has no lock."""
        self._is_inherited = True  # whatever a call that goes on here makes of the state
        self._state = LogState.INHERITED
        self._reader = ClosedReader(self._reader, self._refuse)
        self._lock = RefusedLock(self._refuse)
        self._is_nested = _never
        self._epochs.disown()

    def _do(self, state: LogState, call: Callable[[], T], *, needs_room: bool = False) -> T:
        """Call with the lock held; `state` says what is to become of the log where that is broken off.

        What cannot be taken back is not begun without room for it; `needs_room` where it may come to that.
        """
        if self._is_nested():
            self._refuse_nested()
        with self._lock:
            return self._do_locked(state, call, needs_room=needs_room)

    def _do_locked(self, state: LogState, call: Callable[[], T], *, needs_room: bool = False) -> T:
        if self._state is not OPEN:
            self._ensure_open()
        if needs_room or state is not ADDING:
            ensure_room(self.directory)
        try:
            self._history_before = self._epochs.history, self._reader.end[0]
            self._state = state
            result = call()
            self._history_before = None
            self._state = OPEN
        except BaseException as error:
            self._is_broken_off = True
            self._settle(error)
            raise
        return result

    def _removing(self, call: Callable[[], T]) -> T:
        """Call in the middle of a change; readers that look meanwhile look again."""
        before, self._state = self._state, REMOVING
        self._reader.changes += 1
        result = call()
        self._reader.changes += 1
        self._history_before = None  # there is no way back to it
        self._state = before
        return result

    def _ensure_open(self) -> None:
        """Settle what was broken off; raise unless the log can be written then."""
        if self._is_broken_off:
            self._settle()
        if self._state is not OPEN:
            self._refuse()

    def _refuse(self) -> NoReturn:
        if self._is_broken_off:
            self._settle()
        if self._is_inherited:
            raise inherited_log(self.directory)
        if self._state is LogState.POISONED:
            failure = self._failure
            what = failure.what if isinstance(failure, LogPoisonedError) else f"the disk failed before ({failure})"
            raise LogPoisonedError(what, file=self.directory, advice=self.recovery_advice) from failure
        if self._state is LogState.CLOSED:
            raise LogClosedError(
                "the log is closed", file=self.directory, advice="use what has taken its place, or open it again"
            )
        self._refuse_nested()

    @property
    def is_in_call(self) -> bool:
        """Whether this thread is in the middle of a call that changes the log, and a signal handler or observer asks.

        Each further one raises ReentrantCallError until that has come to its end.
        """
        return self._is_nested()

    def _refuse_nested(self) -> NoReturn:
        raise ReentrantCallError(
            "the log is in the middle of another call of this thread",
            file=self.directory,
            advice="do not use it in a signal handler that may interrupt such a call",
        )

    def _settle(self, error: BaseException | None = None) -> None:
        """Take back what a call has added that `error` broke off; poison the log where there is no way back.

        Raises OutOfMemoryError in place of a MemoryError.
        """
        self._settle_state(error)
        if error is not None:
            name_memory(error, self.directory)

    def _settle_state(self, error: BaseException | None) -> None:
        if self._is_inherited:
            self._is_broken_off = False  # nothing of it is this process's to change
            if isinstance(error, OSError):
                self._refuse()
            return
        if self._state is ADDING:
            try:
                self._take_back()
                self._state = OPEN
            except (OSError, LogStoreError) as failure:
                if is_limit(failure):
                    if error is None:
                        raise
                    return  # the next call takes it back, once it can
                self._poison_by(error, failure)
        if isinstance(error, OSError):
            self._poison_unless_full(error)
        elif self._state in {CHANGING, REMOVING}:
            self._poison(self._broken_off(error))
        self._is_broken_off = False

    def _poison_by(self, error: BaseException | None, failure: OSError | LogStoreError) -> None:
        """Poison the log by what broke a call off; by what kept it from going back, where only that was the disk."""
        if not isinstance(error, OSError):
            self._poison(self._broken_off(failure))
        elif is_passing(error) and isinstance(failure, OSError) and not is_passing(failure):
            error.add_note(f"what it had written could not be taken back: {failure}")
            self._poison(failure)
        else:
            self._poison(error)

    def _take_back(self) -> None:
        """Let the log end again where readers have been told that it ends. Raises OSError."""
        self._remove_unused_segment()
        end_offset, base_offset, position = self._reader.end
        active = self._reader.segments.active
        if active.base_offset == base_offset:
            active.take_back(position, end_offset)
        self._set_end(end_offset)
        self._producers.end_offset = end_offset
        self._current_epoch = -1
        if self._history_before is not None and self._history_before[1] == end_offset:
            try:
                self._epochs.restore(self._history_before[0])
            except OSError as error:
                if not is_limit(error):
                    raise
                # Memory is as it was, and the file gets it before the next batch.
        self._history_before = None

    def _remove_unused_segment(self) -> None:
        """Remove the file of a segment that was begun: found by recovery, it would end the log where it begins."""
        begun = self._begun_segment
        if begun >= 0 and begun not in self._reader.segments.base_offsets:
            path = self.directory / file_name(FileKind.LOG, begun)
            if path.exists():
                self._filesystem.unlink(path)
            self._begun_segment = -1

    def _set_end(self, offset: int) -> None:
        active = self._reader.segments.active
        self._reader.end = offset, active.base_offset, active.size
        self._recovery_point = min(self._recovery_point, offset)

    def _broken_off(self, error: BaseException | None) -> LogPoisonedError:
        by = f" by {_reason(error)}" if error is not None else ""
        return LogPoisonedError(
            f"a call was broken off{by} before all was done that belongs to it",
            file=self.directory,
            advice=self.recovery_advice,
        )

    def _poison_unless_full(self, error: OSError) -> None:
        if self._state in {CHANGING, REMOVING} or not is_passing(error):
            self._poison(error)
        elif self._failure is None:
            self._state = OPEN
            cure = "make space" if error.errno in OUT_OF_SPACE else "let go of what the limit counts, or raise it"
            complete(error, self.directory, f"nothing has changed in the log: {cure}, and do it again")

    def _poison(self, error: OSError) -> None:
        if self._is_inherited:
            self._refuse()
        is_first = self._failure is None
        if is_first:
            # A full disk has not failed, and a limit that was reached on the way says nothing of it.
            if is_passing(error):
                self._failure = self._broken_off(error)
                self._failure.__cause__ = error
            else:
                self._failure = error
        self._state = LogState.POISONED
        if not is_first:
            return
        if not isinstance(error, LogStoreError):
            complete(error, self.directory, f"the log takes nothing more: {self.recovery_advice}")
        if self._observer is not None:
            self._observer.failed(self.directory, error)


def _never() -> bool:
    return False


def _reason(error: BaseException) -> str:
    is_full = isinstance(error, OSError) and error.errno in OUT_OF_SPACE
    return "a full disk" if is_full else type(error).__name__
