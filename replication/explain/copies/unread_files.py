"""What stands beside a copy and could not be read: what it says of the partition is not known."""

from collections.abc import Iterator
from pathlib import Path

from logstore.errors import LogStoreError
from logstore.files.meta_properties import META_PROPERTIES_NAME, MetaProperties
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.offline.partition_directory import PartitionDirectory


def unread_files(copy: PartitionDirectory) -> Iterator[LogStoreError | OSError]:
    """Return why files of the copy's root, or its own where it stands alone, could not be read."""
    for error in _errors(copy):
        error.add_note("what it says is left out")
        yield error


def _errors(copy: PartitionDirectory) -> Iterator[LogStoreError | OSError]:
    place = copy.path if copy.own_checkpoints else copy.path.parent
    if copy.checkpoints.unread:
        errors = RootCheckpoints.read(place).errors
        yield from (errors.get(name) or _no_file(place / name) for name in sorted(copy.checkpoints.unread))
    try:
        _read_properties(copy.path.parent / META_PROPERTIES_NAME)
    except (LogStoreError, OSError) as error:
        yield error


def _read_properties(path: Path) -> None:
    """Read whose root it is, if that is there. Raises LogStoreError and OSError."""
    if path.is_file():
        MetaProperties.read(path)
    elif path.is_symlink() or path.exists():
        raise _no_file(path)


def _no_file(path: Path) -> LogStoreError:
    return LogStoreError("this is not a regular file: it was not read", file=path)
