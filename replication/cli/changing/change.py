"""What `recover` and `truncate` share: they write to a copy, or in place where that is asked for and confirmed."""

import errno
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from replication.base.new_target import new_target
from replication.cli.changing.unusable_file import UnusableFileError, ensure_usable
from replication.cli.output.emphasis import emphasized
from replication.cli.output.failure import CommandError, UsageError
from replication.cli.output.new_copy import new_copy
from replication.cli.output.printing import progress_bar, shown

if TYPE_CHECKING:
    from logstore.files.directory_lock import DirectoryLock
    from logstore.offline.offline_log_directory import OfflineLogDirectory
    from logstore.offline.partition_directory import PartitionDirectory

OutputOption = Annotated[
    Path | None,
    typer.Option("--output", metavar="DIR2", help="Change a copy of DIR, made here; it must not exist yet."),
]
InPlaceOption = Annotated[bool, typer.Option("--in-place", help="Change DIR itself, after asking for confirmation.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only report what --in-place would do.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation with --in-place.")]

_NOT_WRITABLE: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


@dataclass(frozen=True)
class Change:
    """Where a change was asked to be written, and how."""

    directory: Path
    output: Path | None
    in_place: bool
    dry_run: bool
    yes: bool
    json: bool

    def ensure_allowed(self) -> None:
        """Refuse to guess what may be changed, to write a copy into what is copied, and to change files unasked."""
        if self.output is not None and (self.in_place or self.dry_run):
            raise typer.BadParameter("cannot be combined with --in-place or --dry-run", param_hint="--output")
        if self.output is None and not (self.in_place or self.dry_run):
            raise UsageError("name either --output DIR2 or --in-place; or --dry-run, to see what would be done")
        if self.output is not None and self.output.resolve().is_relative_to(self.directory.resolve()):
            raise typer.BadParameter(
                f"{self.output} lies in {self.directory}, which is only read; name a directory outside of it",
                param_hint="--output",
            )
        if self.in_place and not (self.dry_run or self.yes or _can_ask()):
            raise typer.BadParameter(
                "there is no terminal to ask for confirmation on: add --yes to change DIR without it, or "
                "--dry-run to see what would be done",
                param_hint="--in-place",
            )

    @contextmanager
    def locked(self) -> Iterator["Workplace"]:
        """Keep brokers and other programs out of DIR, and read what is there only then.

        What is changed is locked, by files that are made where they are missing; what is only read is locked where
        that takes no new file. Raises DirectoryLockedError, OSError, and NotALogDirectoryError where a partition is a
        symbolic link. A log of a root that cannot be changed is left alone; one that is named itself raises
        UnusableFileError.
        """
        from logstore.files.directory_lock import LOCK_NAME, DirectoryLock
        from logstore.offline.offline_log_directory import open_offline

        with ExitStack() as stack:
            # What it is says which locks it needs; all else is read once they are held.
            found = open_offline(self.directory)
            _refuse_links(found)
            root, *logs = _lockable(found)
            is_changed = self.in_place and not self.dry_run
            unusable = _unusable(found, is_changed=is_changed)
            logs = [place for place in logs if place not in unusable]
            had_locks = any((place / LOCK_NAME).exists() for place in logs)
            locks: dict[Path, DirectoryLock | None]
            if is_changed:
                locks = {root: stack.enter_context(DirectoryLock.acquire(root))}
                locks |= {place: _lock_for_now(place, stack) for place in logs}
            else:
                locks = {place: _lock_to_read(place, stack) for place in (root, *logs)}
            yield Workplace(open_offline(self.directory), self.output, locks, had_locks, unusable)

    def propose(self, *plan: str) -> None:
        """Print what will be done on standard error, and ask for confirmation if DIR itself is changed.

        Raises CommandError where the answer is not yes.
        """
        asks = self.in_place and not self.yes
        if asks or not self.json:
            print(*(emphasized(shown(line), stream=sys.stderr) for line in plan), sep="\n", file=sys.stderr, flush=True)
        if not asks:
            return
        print(f"Change {shown(str(self.directory))} itself? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise CommandError("nothing was changed: the answer was not yes")


@dataclass(frozen=True)
class Workplace:
    """What is to be changed, as it was read once nobody else could change it."""

    opened: "OfflineLogDirectory | PartitionDirectory"
    output: Path | None
    locks: "Mapping[Path, DirectoryLock | None]"
    """Of the root and its logs, each by its directory; None where there is nothing to lock in what is only read."""
    had_locks: bool
    """Whether a log had a lock file of its own before those were taken."""
    unusable: "Mapping[Path, UnusableFileError]"
    """The logs of a root that cannot be changed, by their directories, and why: they are left alone."""

    def hand_over_root(self) -> "DirectoryLock | None":
        """Return the root's lock to what opens the root, and release its logs' own locks, which that checks."""
        root, *logs = self.locks
        for place in logs:
            if lock := self.locks[place]:
                lock.withdraw()
        return self.locks[root]

    @property
    def partitions(self) -> "Sequence[PartitionDirectory]":
        """The partition, or all of the root that can be changed."""
        from logstore.offline.offline_log_directory import OfflineLogDirectory

        if not isinstance(self.opened, OfflineLogDirectory):
            return [self.opened]
        return list(self.opened.partitions(without={path.name for path in self.unusable}))

    @property
    def is_brokers_root(self) -> bool:
        """Whether all logs are one root's, so that their checkpoint files are in it.

        A log that stands alone has such files in its own directory, or a lock at least while they are not yet written.
        """
        from logstore.offline.offline_log_directory import OfflineLogDirectory, has_root_files

        if not isinstance(self.opened, OfflineLogDirectory) or any(
            each.own_checkpoints is not None for each in self.partitions
        ):
            return False
        return has_root_files(self.opened.listing.files) or not self.had_locks

    @contextmanager
    def made(self) -> Iterator[Path]:
        """Give the directory to work on: DIR itself, or a copy of it, made now and removed where the block raises.

        The copy of a partition is `DIR2/topic-partition`. It has its name once all is copied: what is left of a command
        that was killed is hidden, or whole and not yet changed, or not to the end. Raises OSError, and FullDiskError
        for a copy that the disk has no room for, also if that shows within the block.
        """
        from logstore.files.directory_lock import DirectoryLock
        from logstore.offline.directory_copy import bytes_to_copy, copy_directory
        from logstore.offline.offline_log_directory import OfflineLogDirectory

        if self.output is None:
            yield self.opened.path
            return
        target = self.output if isinstance(self.opened, OfflineLogDirectory) else self.output / self.opened.path.name
        with new_copy(target):
            size = bytes_to_copy(self.opened.path, without=self.unusable)
            with new_target(target, "a directory", _refused) as part, progress_bar("copying", size) as advance:
                copy_directory(self.opened.path, part, without=self.unusable, progress=advance)
            for place in (place for place, lock in self.locks.items() if lock is None):
                DirectoryLock.ensure_free(place)  # a broker may have started meanwhile
            yield target

    def moved(self, partition: "PartitionDirectory", made: Path) -> "PartitionDirectory":
        """Return the partition in what was `made` for the one that was read, with all that is known of it."""
        from logstore.offline.offline_log_directory import OfflineLogDirectory

        return replace(
            partition, path=made / partition.path.name if isinstance(self.opened, OfflineLogDirectory) else made
        )


def _refused(target: Path, reason: str) -> CommandError:
    return CommandError(f"{target} {reason}")


def _can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _refuse_links(found: "OfflineLogDirectory | PartitionDirectory") -> None:
    """Leave alone what is elsewhere: the locks that count may lie there, and so may the checkpoint files, or not."""
    from logstore.errors import linked_directory
    from logstore.offline.offline_log_directory import OfflineLogDirectory

    links = found.links() if isinstance(found, OfflineLogDirectory) else [found.path] if found.path.is_symlink() else []
    for path in links:
        raise linked_directory(path)


def _unusable(
    found: "OfflineLogDirectory | PartitionDirectory", *, is_changed: bool
) -> "dict[Path, UnusableFileError]":
    """Find the logs of a root that cannot be changed. Raises UnusableFileError for a partition's own directory."""
    from logstore.offline.offline_log_directory import OfflineLogDirectory

    if not isinstance(found, OfflineLogDirectory):
        ensure_usable(found.path, is_changed=is_changed)
        return {}
    unusable: dict[Path, UnusableFileError] = {}
    for place in (found.path / name for name in found.live_names()):
        try:
            ensure_usable(place, is_changed=is_changed)
        except UnusableFileError as error:
            unusable[place] = error
    return unusable


def _lockable(found: "OfflineLogDirectory | PartitionDirectory") -> "list[Path]":
    """Name the directories that those who work on the logs may have locked: the root first, then each log's own."""
    from logstore.offline.offline_log_directory import OfflineLogDirectory

    if isinstance(found, OfflineLogDirectory):
        return [found.path, *(found.path / name for name in found.live_names())]
    return [found.path.parent, found.path]


def _lock_for_now(place: Path, stack: ExitStack) -> "DirectoryLock":
    """Lock a log's own directory, and leave no lock file there that was not there before."""
    from logstore.files.directory_lock import DirectoryLock

    lock = DirectoryLock.acquire(place)
    stack.callback(lock.withdraw)
    return lock


def _lock_to_read(place: Path, stack: ExitStack) -> "DirectoryLock | None":
    """Lock by the file that a broker has left; where there is none, or it may not be written, see that nobody works."""
    from logstore.files.directory_lock import LOCK_NAME, DirectoryLock

    if not (place / LOCK_NAME).exists():
        return None
    try:
        return stack.enter_context(DirectoryLock.acquire(place))
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        DirectoryLock.ensure_free(place)
        return None
