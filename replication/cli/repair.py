"""What `recover` and `truncate` share: they write to a copy, or in place where that is asked for by name."""

import errno
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from replication.cli.output import progress_bar

if TYPE_CHECKING:
    from logstore.log_root import LogRoot
    from logstore.partition_directory import PartitionDirectory

OutputOption = Annotated[
    Path | None, typer.Option("--output", metavar="DIR2", help="Where the repaired copy goes; it must not exist yet.")
]
InPlaceOption = Annotated[bool, typer.Option("--in-place", help="Change DIR itself.")]


def ensure_named(directory: Path, output: Path | None, *, in_place: bool) -> None:
    """Refuse to guess what may be changed, and to write a copy into what is copied."""
    if (output is not None) == in_place:
        raise typer.BadParameter("name either --output DIR2 or --in-place", param_hint="--output")
    if output is not None and output.resolve().is_relative_to(directory.resolve()):
        raise typer.BadParameter(
            f"{output} lies in {directory}, which is only read then; name a directory apart from it",
            param_hint="--output",
        )


_NOT_WRITABLE: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


@contextmanager
def workplace(opened: "LogRoot | PartitionDirectory", output: Path | None) -> Iterator[Path]:
    """Give the directory to work on: DIR itself, or a copy of it, made now. No broker may work on DIR meanwhile.

    The copy of a partition is `DIR2/topic-partition`. Raises DirectoryLockedError, OSError.
    """
    from logstore.directory_copy import bytes_to_copy, copy_directory
    from logstore.log_root import LogRoot

    root = opened.path if isinstance(opened, LogRoot) else opened.path.parent
    with ExitStack() as locks:
        if output is None:
            # LogDirectory locks the root itself.
            if not isinstance(opened, LogRoot):
                locks.enter_context(_lock(root))
                locks.enter_context(_lock(opened.path))
            yield opened.path
            return
        with _lock_to_read(root), progress_bar("copying", bytes_to_copy(opened.path)) as advance:
            target = output if isinstance(opened, LogRoot) else output / opened.path.name
            copy_directory(opened.path, target, progress=advance)
        yield target


def announce(what: str, *, json: bool) -> None:
    """Say beforehand what it will take: on the error stream, where it is in nobody's way."""
    if not json:
        print(what, file=sys.stderr, flush=True)


@contextmanager
def _lock_to_read(root: Path) -> Iterator[None]:
    """Do as `_lock`; where nothing may be written, as in a mounted snapshot, make sure that nobody works there now."""
    from logstore.directory_lock import DirectoryLock

    with ExitStack() as lock:
        try:
            lock.enter_context(_lock(root))
        except OSError as error:
            if error.errno not in _NOT_WRITABLE:
                raise
            DirectoryLock.ensure_free(root)
        yield


@contextmanager
def _lock(root: Path) -> Iterator[None]:
    """Keep brokers out, by the lock file that they leave; where there is none, none has ever been here."""
    from logstore.directory_lock import LOCK_NAME, DirectoryLock

    if not (root / LOCK_NAME).exists():
        yield
        return
    with DirectoryLock.acquire(root):
        yield
