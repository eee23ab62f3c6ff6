"""The `.lock` of a log.dirs root: one process at a time, in Python or a JVM (Kafka: FileLock).

A log that is opened by itself has one in its own directory, where Kafka does not mind it.

A JVM locks the file with a POSIX record lock, which an flock does not exclude. Such a lock has a trap: it belongs to
the process, and is gone as soon as any descriptor of the file is closed in it, even by a backup that only reads it.
Where the system has them (Linux), this lock is an open file description lock instead. Those exclude POSIX locks and
are excluded by them, and they end only with the descriptor that took them. Elsewhere (macOS) it is a POSIX lock, and
whoever embeds this must not open the file.

A forked child has no lock, as with POSIX locks: its copy of the descriptor is closed right after the fork, and
`ensure_held` raises there.
"""

import fcntl
import os
import struct
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Final, Self

from epoch.filesystem import REAL
from logstore.errors import DirectoryLockedError

LOCK_NAME: Final = ".lock"

_OFD_SETLK: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None)
_OFD_GETLK: Final[int] = getattr(fcntl, "F_OFD_GETLK", 0)
# struct flock of 64-bit Linux: type, whence, start, length (0: to the end), pid.
_FLOCK: Final = struct.Struct("hhqqi4x")
_EXCLUSIVE: Final = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
_UNLOCKED: Final = _FLOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)

_held: Final[dict[tuple[int, int], "DirectoryLock"]] = {}
"""By device and inode: where only POSIX locks exist, a second descriptor must not even be opened."""
_held_lock: Final = RLock()
"""May be taken again by its holder: a signal handler may fork."""


class DirectoryLock:
    """The lock of one root, held from `acquire` to `release`.

    >>> with DirectoryLock.acquire(Path("/var/kafka-logs")):
    ...     ...
    """

    def __init__(self, path: Path) -> None:
        """Hold nothing yet; see `acquire` and `take`."""
        self.path = path
        self.made: bool = not path.exists()
        """Whether the file was missing before."""
        self._descriptor: int | None = None
        self._owner = os.getpid()

    def __repr__(self) -> str:
        return f"DirectoryLock({self.path}, held={self.held})"

    @classmethod
    def acquire(cls, root: Path) -> Self:
        """Lock a root, creating `.lock` if missing. Raises DirectoryLockedError without waiting, and OSError."""
        lock = cls(root / LOCK_NAME)
        lock.take()
        return lock

    def take(self) -> None:
        """Lock a root with this lock, so that the caller can `release` it whatever is raised, even as this returns.

        Raises DirectoryLockedError and OSError; the lock is then not held.
        """
        with _held_lock:
            try:
                # A broker that stops removes the file: what was locked may no longer be what the name leads to.
                while not self._take():
                    pass
            except BaseException:
                self._drop()
                raise

    @staticmethod
    def ensure_free(root: Path) -> None:
        """Raise DirectoryLockedError if this directory is locked, without creating or locking a file.

        On systems that only have POSIX locks, those of other processes are not noticed. Raises OSError.
        """
        path = root / LOCK_NAME
        if not path.exists():
            return
        with _held_lock:
            if _identity(path.stat()) in _held:
                raise _locked(path, os.getpid())
            if _OFD_SETLK is None:
                return
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                kind, *_, holder = _FLOCK.unpack(fcntl.fcntl(descriptor, _OFD_GETLK, _EXCLUSIVE))
            finally:
                os.close(descriptor)
            if kind != fcntl.F_UNLCK:
                raise _locked(path, holder if holder > 0 else None)

    @property
    def held(self) -> bool:
        """Whether this process holds the lock: false once released, and in a forked child."""
        return self._descriptor is not None and self._owner == os.getpid()

    def ensure_held(self) -> None:
        """Raise DirectoryLockedError in a forked child, and once released."""
        if not self.held:
            raise DirectoryLockedError(
                "this process does not hold the lock: it was released, or is the parent's of a fork",
                file=self.path,
                advice="open the log directory again, in the process that writes",
            )

    def release(self) -> None:
        """Release the lock. The file stays, as with Kafka. Releasing again does nothing."""
        if self.held:
            with _held_lock:
                self._drop()

    def withdraw(self) -> None:
        """Release the lock, and remove the file if `acquire` made it. Raises OSError.

        Not for a root: a broker that starts just then could be left with a lock on a file that is gone.
        """
        if self.held and self.made:
            REAL.unlink(self.path)
        self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    def _forget(self) -> None:
        """Drop a forked child's copy of the descriptor: the parent's lock does not end with it."""
        if self._descriptor is not None and _OFD_SETLK is not None:
            os.close(self._descriptor)
        self._descriptor = None

    def _take(self) -> bool:
        """Open and lock the file; False where it was removed meanwhile."""
        path = self.path
        if path.exists() and _identity(path.stat()) in _held:
            raise _locked(path, os.getpid())
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        _lock(self._descriptor, path)
        identity = _identity(os.fstat(self._descriptor))
        if path.exists() and _identity(path.stat()) == identity:
            _held[identity] = self
            return True
        self._drop()
        return False

    def _drop(self) -> None:
        """Unlock the file and close its descriptor; `_held_lock` is held."""
        for identity in [identity for identity, lock in _held.items() if lock is self]:
            del _held[identity]
        if self._descriptor is not None:
            # Closing it would do. But whatever is raised in between, nobody is locked out for good.
            _unlock(self._descriptor)
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    try:
        if _OFD_SETLK is not None:
            fcntl.fcntl(descriptor, _OFD_SETLK, _EXCLUSIVE)
        else:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise _locked(path, _holder(descriptor)) from error


def _unlock(descriptor: int) -> None:
    if _OFD_SETLK is not None:
        fcntl.fcntl(descriptor, _OFD_SETLK, _UNLOCKED)
    else:
        fcntl.lockf(descriptor, fcntl.LOCK_UN)


def _holder(descriptor: int) -> int | None:
    """Find the process that holds the lock; None where the system does not report it."""
    if _OFD_SETLK is None:
        return None
    pid: int = _FLOCK.unpack(fcntl.fcntl(descriptor, _OFD_GETLK, _EXCLUSIVE))[-1]
    return pid if pid > 0 else None


def _locked(path: Path, holder: int | None) -> DirectoryLockedError:
    by = f"process {holder}" if holder else "another process"
    advice = "stop the broker or program that uses it, or use a copy of the directory"
    if holder == os.getpid():
        by, advice = "this process itself", "use the one that is already open, or close it first"
    return DirectoryLockedError(f"the log directory is locked by {by}", file=path, advice=advice)


def _identity(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino


def _after_fork_in_child() -> None:
    for lock in _held.values():
        lock._forget()  # noqa: SLF001 - this module's own
    _held.clear()
    _held_lock.release()


# No other thread may be in the middle of a change when the child gets its copy.
os.register_at_fork(before=_held_lock.acquire, after_in_parent=_held_lock.release, after_in_child=_after_fork_in_child)
