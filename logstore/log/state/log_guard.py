"""What is left of a log when a call on it fails, or is broken off by whatever is raised in the middle of it."""

from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from epoch.base.resource_limits import OUT_OF_SPACE, ensure_room, is_limit, is_passing, name_memory
from logstore.errors import (
    LogClosedError,
    LogPoisonedError,
    LogStoreError,
    complete,
    inherited_log,
)
from logstore.log.state.call_guard import CallGuard
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment
from logstore.log.state.log_state import LogState
from logstore.log.state.undo import Undo

T = TypeVar("T")

# An enum looks its members up at each use, and appends use these twice.
OPEN: Final = LogState.OPEN
ADDING: Final = LogState.ADDING
CHANGING: Final = LogState.CHANGING
REMOVING: Final = LogState.REMOVING
CLOSED: Final = LogState.CLOSED
POISONED: Final = LogState.POISONED


class LogGuard(CallGuard):
    """Sees that each call changes a log as a whole or not at all; where neither is certain, the log is poisoned.

    The disk is not all that can fail. A signal handler raises KeyboardInterrupt or a timeout after any call and at
    any turn of a loop, and memory can end anywhere. So each call says by `state` what it is about to do, before its
    first step and within a `try`, and the log is settled where that does not come to its end; if even that is broken
    off, by the next call. `do` does all of that for a call; appends do it themselves, as a function more takes time.
    """

    def __init__(self, environment: LogEnvironment, contents: LogContents, undo: Undo, recovery_advice: str) -> None:
        """Guard a log that is open; `recovery_advice` is how to go on where it is poisoned."""
        self.recovery_advice = recovery_advice
        self._contents = contents
        self._undo = undo
        self._events = environment.events
        self._out_of_space = environment.out_of_space
        self.state: LogState = OPEN
        self.before_change: Callable[[], object] = ignore_change
        """Called with the lock held before a call changes more than the log's end."""
        self._failure: OSError | None = None
        self.is_broken_off: bool = False
        """Whether a call was broken off, and nobody has settled the log yet."""
        super().__init__(environment.directory, "log")

    def detach(self) -> None:
        """Refuse further calls, and leave everything as it is: for a forked process, whose copy has no lock."""
        super().detach()  # first: whatever a call that goes on here makes of the state
        self._contents.is_readable = False
        self.state = LogState.INHERITED
        self._contents.wake()  # who waits here would wait for ever

    # --- calls

    def do(self, state: LogState, call: Callable[[], T], *, needs_room: bool = False) -> T:
        """Call with the lock held; `state` says what is to become of the log where that is broken off.

        What cannot be taken back is not begun without room for it; `needs_room` where it may come to that.
        """
        if self.is_nested():
            self.refuse_nested()
        with self.lock:
            return self.do_locked(state, call, needs_room=needs_room)

    def do_locked(self, state: LogState, call: Callable[[], T], *, needs_room: bool = False) -> T:
        """Do as `do` does, for who holds the lock already."""
        if self.state is not OPEN:
            self.ensure_open()
        self.before_change()
        if needs_room or state is not ADDING:
            ensure_room(self._directory)
        try:
            self._undo.begin()
            self.state = state
            result = call()
            self._undo.end()
            self.state = OPEN
        except BaseException as error:
            self.is_broken_off = True
            self.settle(error)
            raise
        return result

    def remove(self, call: Callable[[], T]) -> T:
        """Call in the middle of a change; readers that look meanwhile look again."""
        before, self.state = self.state, REMOVING
        self._contents.changes += 1
        result = call()
        self._contents.changes += 1
        self._undo.end()  # there is no way back to it
        self.state = before
        return result

    def close(self) -> None:
        """Refuse further calls: the log is closed."""
        self.state = CLOSED
        self._contents.is_readable = False

    # --- what may be done now

    def ensure_open(self) -> None:
        """Settle what was broken off; raise unless the log can be written then."""
        if self.is_broken_off:
            self.settle()
        if self.state is not OPEN:
            self.refuse()

    def ensure_own(self) -> None:
        """Raise in a forked process."""
        if self.is_inherited:
            self.refuse()

    def ensure_may_begin(self) -> None:
        """Raise where this thread may begin no call: within one, in a forked process, of a closed log."""
        self.ensure_not_nested()
        self.ensure_readable()

    def ensure_writable(self) -> None:
        """Do as `ensure_open` for a call that begins: a call that another thread is in is waited for."""
        self.ensure_not_nested()
        with self.lock:
            self.ensure_open()

    def ensure_readable(self) -> None:
        """Raise where the log is closed, or another process's."""
        if not self._contents.is_readable:
            self.refuse()

    def refuse(self) -> NoReturn:
        """Raise what the state of the log makes of a call."""
        if self.is_broken_off:
            self.settle()
        if self.is_inherited:
            raise inherited_log(self._directory)
        if self.state is POISONED:
            failure = self._failure
            what = failure.what if isinstance(failure, LogPoisonedError) else f"the disk failed before ({failure})"
            raise LogPoisonedError(what, file=self._directory, advice=self.recovery_advice) from failure
        if self.state is CLOSED:
            raise LogClosedError(
                "the log is closed", file=self._directory, advice="use the log that replaced it, or open it again"
            )
        self.refuse_nested()

    # --- what has failed

    @property
    def failure(self) -> OSError | None:
        """What poisoned the log; None while it can be written."""
        if self.is_broken_off:
            with self.lock:
                self.settle()
        return self._failure

    def settle(self, error: BaseException | None = None) -> None:
        """Undo what a call has added that `error` broke off; poison the log where that is not possible.

        Raises OutOfMemoryError in place of a MemoryError.
        """
        self._settle_state(error)
        self._contents.wake()  # an append may have been broken off after it was done
        if error is not None:
            name_memory(error, self._directory)

    def _settle_state(self, error: BaseException | None) -> None:
        if self.is_inherited:
            self.is_broken_off = False  # nothing of it is this process's to change
            if isinstance(error, OSError):
                self.refuse()
            return
        if self.state is ADDING:
            try:
                self._undo.take_back()
                self.state = OPEN
            except (OSError, LogStoreError) as failure:
                if is_limit(failure):
                    if error is None:
                        raise
                    return  # the next call takes it back, once it can
                self._poison_by(error, failure)
        # A TimeoutError that a signal handler raises has no number, and is no failure of the disk.
        if isinstance(error, OSError) and error.errno is not None:
            self.poison_unless_full(error)
        elif self.state in {CHANGING, REMOVING}:
            self.poison(self._broken_off(error))
        self.is_broken_off = False

    def _poison_by(self, error: BaseException | None, failure: OSError | LogStoreError) -> None:
        """Poison the log by what broke a call off; by what kept it from going back, where only that was the disk."""
        if not isinstance(error, OSError) or error.errno is None:
            self.poison(self._broken_off(failure))
        elif is_passing(error) and isinstance(failure, OSError) and not is_passing(failure):
            error.add_note(f"what it had written could not be undone: {failure}")
            self.poison(failure)
        else:
            self.poison(error)

    def _broken_off(self, error: BaseException | None) -> LogPoisonedError:
        by = f" by {_reason(error)}" if error is not None else ""
        return LogPoisonedError(
            f"a call was interrupted{by} before it was complete",
            file=self._directory,
            advice=self.recovery_advice,
        )

    def poison_unless_full(self, error: OSError) -> None:
        """Poison the log by an error, unless that only says that nothing could be done for want of something."""
        if self.state in {CHANGING, REMOVING} or not is_passing(error):
            self.poison(error)
        elif self._failure is None:
            cure = "make space" if error.errno in OUT_OF_SPACE else "release what the limit counts, or raise it"
            complete(error, self._directory, f"nothing has changed in the log: {cure}, and do it again")
            self._note_shortage(error)

    def poison(self, error: OSError) -> None:
        """Refuse all further changes to the log: what is on disk is unknown."""
        if self.is_inherited:
            self.refuse()
        is_first = self._failure is None
        if is_first:
            # A full disk has not failed, and a limit that was reached on the way says nothing of it.
            if is_passing(error):
                self._failure = self._broken_off(error)
                self._failure.__cause__ = error
            else:
                self._failure = error
        self.state = POISONED
        self._contents.wake()
        if not is_first:
            return
        if not isinstance(error, LogStoreError):
            complete(error, self._directory, f"the log refuses writes: {self.recovery_advice}")
        self._events.failed(self._directory, error)
        self._note_shortage(error)

    def _note_shortage(self, error: OSError) -> None:
        if error.errno in OUT_OF_SPACE:
            self._out_of_space(error)


def ignore_change() -> None:
    """Do nothing before a change."""


def _reason(error: BaseException) -> str:
    is_full = isinstance(error, OSError) and error.errno in OUT_OF_SPACE
    return "a full disk" if is_full else type(error).__name__
