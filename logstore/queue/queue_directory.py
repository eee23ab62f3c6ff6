"""The directory of a work queue: the log of its items, and the owner's socket."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from epoch.filesystem import FileSystem
from logstore.errors import NotALogDirectoryError
from logstore.file_name import META_PROPERTIES_NAME, FileKind, parse_file_name
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS
from logstore.files.partition_metadata import PARTITION_METADATA_NAME

LOG_NAME: Final = "items-0"
_OF_A_ROOT: Final = frozenset({META_PROPERTIES_NAME, *OFFSET_CHECKPOINTS})


def make_queue_directory(directory: Path, filesystem: FileSystem) -> None:
    """Create the directory of a queue, durably, if it is missing.

    Raises NotALogDirectoryError for a file, and for a directory in which others keep logs: what is in these would be
    given out as items, and deleted. Raises OSError, such as where there is no directory to make it in.
    """
    if not directory.is_dir():
        with suppress(FileExistsError):  # another process makes it at the same time, or it is a file
            filesystem.mkdir(directory)
        if not directory.is_dir():
            raise NotALogDirectoryError("not a directory", file=directory, advice="name one for the queue alone")
    for name in _foreign(directory):
        raise NotALogDirectoryError(
            f"this is a log, or a root of logs, and no work queue: it holds {name}",
            file=directory,
            advice="name a directory for the queue alone, or open this one with Log.open or LogDirectory.open",
        )
    # Whoever made it may have come no further. Who may not read the directory that it is in was given this one.
    with suppress(PermissionError):
        filesystem.fsync_directory(directory.parent)


def _foreign(directory: Path) -> Iterator[str]:
    """Find what no queue has: files of a root, segments that are not those of its log, and the id of a topic."""
    for path in directory.iterdir():
        if path.name in _OF_A_ROOT or _is_segment(path) or (path.name != LOG_NAME and _holds_segments(path)):
            yield path.name
    if (directory / LOG_NAME / PARTITION_METADATA_NAME).exists():
        yield f"{LOG_NAME}/{PARTITION_METADATA_NAME}"


def _holds_segments(path: Path) -> bool:
    return any(map(_is_segment, path.glob(f"*.{FileKind.LOG}")))


def _is_segment(path: Path) -> bool:
    return parse_file_name(path.name).kind is FileKind.LOG
