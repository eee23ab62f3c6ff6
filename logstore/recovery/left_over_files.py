"""What a stop in the middle of deletion or compaction leaves in a partition directory, and what must become of it.

Kafka: LogLoader's first three passes. The log cleaner, and the splitting of segments, write `.cleaned` files, rename
them to `.swap` once complete, and then put them in place of the segments that they replace.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from logstore.file_name import INDEX_KINDS, FileFate, FileKind, FileName, parse_file_name


class LeftOvers(NamedTuple):
    """The file names to remove, and those to rename: without their `.swap`."""

    remove: tuple[str, ...] = ()
    rename: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.remove or self.rename)


def plan_left_overs(names: Iterable[str], next_offset_of: Callable[[str], int]) -> LeftOvers:
    """Decide what becomes of each file. `next_offset_of` returns where the log in a `.log.swap` file ends."""
    parsed = {name: _parse(name) for name in names}
    fates = {name: file.fate for name, file in parsed.items()}
    deleted = [name for name, fate in fates.items() if fate is FileFate.DELETED]
    cleaned = [name for name, fate in fates.items() if fate is FileFate.CLEANED]
    swaps = [name for name, fate in fates.items() if fate is FileFate.SWAP]
    # A split stopped half-way: its complete parts go with the incomplete ones, as the original is still there.
    first_cleaned = min((_offset(parsed[name]) for name in cleaned), default=None)
    invalid = [name for name in swaps if first_cleaned is not None and _offset(parsed[name]) >= first_cleaned]
    valid = [name for name in swaps if name not in set(invalid)]
    logs = [name for name in valid if parsed[name].kind is FileKind.LOG]
    replaced: list[str] = []
    if logs:
        first = min(_offset(parsed[name]) for name in logs)
        # An empty one replaces the files of its own name all the same.
        end = max(first + 1, *map(next_offset_of, logs))
        replaced = [
            name
            for name, file in parsed.items()
            if file.fate is FileFate.LIVE and file.base_offset is not None and first <= file.base_offset < end
        ]
    # What tells that others are invalid goes after them, and from the front on each renamed file leaves the range in
    # which the rest replaces files: another crash in between changes nothing.
    return LeftOvers(
        (*deleted, *invalid, *cleaned, *replaced), tuple(sorted(valid, key=lambda name: _rank(parsed[name])))
    )


def orphaned_indexes(names: Iterable[str]) -> list[str]:
    """Find the index files without a `.log` file (Kafka deletes them; snapshots of producers are another matter)."""
    parsed = {name: file for name in names if (file := _parse(name)).fate is FileFate.LIVE}
    logs = {file.base_offset for file in parsed.values() if file.kind is FileKind.LOG}
    return [name for name, file in parsed.items() if file.kind in INDEX_KINDS and file.base_offset not in logs]


def _parse(name: str) -> FileName:
    """Read a name; snapshots of the cluster's metadata do not belong to the log, deleted or not."""
    file = parse_file_name(name)
    return FileName(FileKind.UNKNOWN) if file.kind is FileKind.METADATA_SNAPSHOT else file


def _rank(file: FileName) -> tuple[int, bool]:
    return _offset(file), file.kind is not FileKind.LOG


def _offset(file: FileName) -> int:
    return file.base_offset or 0
