"""What stands in a directory, without following links that leave it."""

import os
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final, NamedTuple

from logstore.errors import NotALogDirectoryError
from logstore.shown_text import shown

_FEW: Final = 8


class FileState(NamedTuple):
    """Which file has a name, and since when it is as it is."""

    inode: int
    changed_ns: int
    """When it was written to or renamed last, in nanoseconds since 1970 UTC."""
    size: int

    @classmethod
    def of(cls, stat: os.stat_result) -> "FileState":
        """Create it from what the system reports of the file."""
        return cls(stat.st_ino, stat.st_ctime_ns, stat.st_size)


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """The entries of one directory by name."""

    files: dict[str, Path]
    directories: dict[str, Path]
    escaping_links: dict[str, Path]
    """Symbolic links that lead out of the root: reported, never followed."""
    other: dict[str, Path]
    """What is neither: sockets, devices, links to nothing or in a loop."""
    states: dict[str, FileState] = field(default_factory=dict, compare=False)
    """Of the files, when they were listed."""


def list_directory(path: Path, *, root: Path) -> DirectoryListing:
    """List `path`, which lies in `root`. Links are followed only as long as they stay in `root`.

    Raises NotALogDirectoryError where `path` is no directory, and OSError where it cannot be read.
    """
    listing = DirectoryListing({}, {}, {}, {})
    for entry in _entries(path):
        kind = _kind_of(entry, root, listing)
        if kind is not None:
            kind[entry.name] = path / entry.name
    return listing


def _entries(path: Path) -> list[os.DirEntry[str]]:
    """Return what stands in a directory, by name."""
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=attrgetter("name"))
    except (OSError, ValueError):  # the latter where it is no path at all
        if not path.exists():
            raise NotALogDirectoryError("no such directory", file=path, advice=_advice(path)) from None
        if not path.is_dir():
            advice = "name a directory, such as the one that it lies in"
            raise NotALogDirectoryError("not a directory", file=path, advice=advice) from None
        raise


def _advice(missing: Path) -> str:
    """Name what may have been meant: the directories in the nearest one that exists, unless that is the root of all."""
    there = next(path for path in missing.absolute().parents if path.is_dir())
    try:
        names = sorted(shown(path.name) for path in there.iterdir() if path.is_dir())
    except OSError:
        names = []
    if not names or there == there.parent:
        return "correct the path"
    more = f" and {len(names) - _FEW:,} more" if len(names) > _FEW else ""
    return f"correct the path: the directories in {there} are {', '.join(names[:_FEW])}{more}"


def _kind_of(entry: os.DirEntry[str], root: Path, listing: DirectoryListing) -> dict[str, Path] | None:
    """Return the listing that the entry belongs to; None if it is gone by now."""
    try:
        escapes = entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # a loop of links, which Python reports as either
        return listing.other
    if escapes:
        return listing.escaping_links
    try:
        stat = entry.stat()
    except OSError:
        return listing.other if os.path.lexists(entry) else None
    if S_ISREG(stat.st_mode):
        listing.states[entry.name] = FileState.of(stat)
        return listing.files
    return listing.directories if S_ISDIR(stat.st_mode) else listing.other
