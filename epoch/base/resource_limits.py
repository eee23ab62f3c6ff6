"""What the system allows a process, and a disk can hold: a limit that is reached is no disk that fails."""

import errno
import mmap
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, Self

from epoch.base.store_error import LogStoreError
from epoch.errors import EpochError

OUT_OF_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE})
OUT_OF_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What a full disk answers: once there is space again, writing works again."""
_DESCRIPTORS: Final = 4
"""No step of a change has more open for itself at once."""


class ResourceLimitError(EpochError, LogStoreError, OSError):
    """A limit on descriptors, mappings, threads or memory of the process or system is reached. Nothing was changed.

    `limit` is the limit's name and `value` what it allows, None if the system does not report it.
    """

    def __init__(
        self,
        number: int,
        what: str,
        limit: str,
        value: int | None,
        advice: str,
        *,
        file: str | os.PathLike[str] | None = None,
    ) -> None:
        """Describe what ran out, and the limit that was reached."""
        allows = "" if value is None else f" of {value:,}"
        super().__init__(f"{what}: the limit {limit}{allows} is reached", file=file, advice=advice)
        self.errno: int | None = number
        self.limit = limit
        self.value = value

    def __str__(self) -> str:
        """Return what happened: an OSError with a number would give that alone."""
        return str(self.args[0])

    def with_position(self, **_: object) -> Self:
        """Return this error: it says what it is about."""
        return self


class OutOfMemoryError(ResourceLimitError, MemoryError):
    """The interpreter could not allocate memory."""


def is_limit(error: BaseException) -> bool:
    """Whether an error says that a limit was reached, and not that the disk failed."""
    return isinstance(error, ResourceLimitError) or (isinstance(error, OSError) and error.errno in OUT_OF_DESCRIPTORS)


def is_passing(error: OSError) -> bool:
    """Whether an error is about a full disk, or a limit of the process or system: the disk has not failed."""
    return error.errno in OUT_OF_SPACE or error.errno == errno.ENOMEM or is_limit(error)


@contextmanager
def ignoring_full_disk() -> Iterator[None]:
    """Pass over the error of a full disk: for what will be written, or found as it was, another time."""
    try:
        yield
    except OSError as error:
        if error.errno not in OUT_OF_SPACE:
            raise


class NamingLimits:
    """Raises ResourceLimitError for what fails for want of descriptors, or of memory for the interpreter.

    >>> with NamingLimits(path), open(path, "rb") as file:
    ...     data = file.read()
    """

    __slots__ = ("_path",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Name the file that is opened or read."""
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, MemoryError):
            name_memory(error, self._path)
        elif isinstance(error, OSError) and error.errno in OUT_OF_DESCRIPTORS:
            refuse_beyond_limit(error, self._path)


def refuse_beyond_limit(error: OSError, path: str | os.PathLike[str]) -> None:
    """Raise ResourceLimitError where opening or mapping a file has failed for want of something; else nothing."""
    if isinstance(error, ResourceLimitError):
        raise error
    told = str(error.strerror)
    if error.errno == errno.EMFILE:
        advice = "raise it (`ulimit -n`), or keep fewer files open"
        allowed = _soft(resource.RLIMIT_NOFILE)
        limit = ResourceLimitError(error.errno, told, "RLIMIT_NOFILE", allowed, advice, file=path)
    elif error.errno == errno.ENFILE:
        advice = "it applies to the whole system: raise it, or close files of other processes"
        limit = ResourceLimitError(error.errno, told, "fs.file-max", _system("fs/file-max"), advice, file=path)
    elif error.errno == errno.ENOMEM:
        limit = _of_memory(told, path)
    else:
        return
    raise limit from error


def name_memory(error: BaseException, path: str | os.PathLike[str]) -> None:
    """Raise OutOfMemoryError, a MemoryError that names the limit, for one that does not; else nothing.

    The system does not say which limit it was: it is taken for the lowest of those that are set.
    """
    if not isinstance(error, MemoryError) or isinstance(error, ResourceLimitError):
        return
    limits = {"RLIMIT_AS": _soft(resource.RLIMIT_AS), "RLIMIT_DATA": _soft(resource.RLIMIT_DATA)}
    value, limit = min(
        ((value, name) for name, value in limits.items() if value is not None),
        default=(os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE, "physical memory"),
    )
    raise OutOfMemoryError(
        errno.ENOMEM, "out of memory", limit, value, "release memory that is not needed, or raise it", file=path
    ) from error


def no_more_threads(error: RuntimeError) -> ResourceLimitError:
    """Make the error for a thread that could not be started."""
    allowed = _soft(resource.RLIMIT_NPROC)
    limit, value = (
        ("kernel.threads-max", _system("kernel/threads-max")) if allowed is None else ("RLIMIT_NPROC", allowed)
    )
    advice = "raise it (`ulimit -u`) or the container's, or run fewer threads"
    return ResourceLimitError(errno.EAGAIN, str(error), limit, value, advice)


def usable_cores() -> int:
    """Return how many cores this process may run on; it cannot see how much of them a container allows."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ensure_room(path: Path) -> None:
    """Raise ResourceLimitError unless a change can open and map what it needs for itself: called before it begins."""
    descriptors: list[int] = []
    try:
        while len(descriptors) < _DESCRIPTORS:
            descriptors += os.pipe()
        mmap.mmap(-1, mmap.PAGESIZE).close()
    except OSError as error:
        refuse_beyond_limit(error, path)
        raise
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _of_memory(told: str, path: str | os.PathLike[str]) -> ResourceLimitError:
    advice = "release views that are not needed, or raise it"
    address_space = _soft(resource.RLIMIT_AS)
    if address_space is not None:
        return ResourceLimitError(errno.ENOMEM, told, "RLIMIT_AS", address_space, advice, file=path)
    most = _system("vm/max_map_count")
    return ResourceLimitError(errno.ENOMEM, told, "vm.max_map_count", most, advice, file=path)


def _soft(kind: int) -> int | None:
    allowed, _ = resource.getrlimit(kind)
    return None if allowed == resource.RLIM_INFINITY else allowed


def _system(name: str) -> int | None:
    """Read a limit of the system's; with no descriptor left there is none to say it by."""
    try:
        return int(Path("/proc/sys", name).read_text())
    except (OSError, ValueError):
        return None


def read_bounded(file: BinaryIO, limit: int) -> bytes:
    """Read a file from its beginning, as long as it is now; of one beyond `limit` bytes, one byte more than that.

    It is best opened without a buffer, which would only cost time. Python takes room for as many bytes as it is asked
    to read, and a limit is far beyond what most files have.
    """
    return read_up_to(file, min(os.fstat(file.fileno()).st_size, limit + 1))


def read_up_to(file: BinaryIO, size: int) -> bytes:
    """Read so many bytes, or as many as there are; a file without a buffer may give fewer at once."""
    data = file.read(size)
    while len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data
