"""What stands in a directory, without following links that leave it."""

import os
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from logstore.errors import NotALogDirectoryError


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """The entries of one directory by name."""

    files: dict[str, Path]
    directories: dict[str, Path]
    escaping_links: dict[str, Path]
    """Symbolic links that lead out of the root: reported, never followed."""
    other: dict[str, Path]
    """What is neither: sockets, devices, links to nothing or in a loop."""


def list_directory(path: Path, *, root: Path) -> DirectoryListing:
    """List `path`, which lies in `root`. Links are followed only as long as they stay in `root`.

    Raises NotALogDirectoryError where `path` is no directory, and OSError where it cannot be read.
    """
    try:
        entries = sorted(path.iterdir(), key=attrgetter("name"))
    except FileNotFoundError:
        raise NotALogDirectoryError("no such directory", file=path) from None
    except NotADirectoryError:
        raise NotALogDirectoryError("not a directory", file=path) from None
    listing = DirectoryListing({}, {}, {}, {})
    for entry in entries:
        kind = _kind_of(entry, root, listing)
        if kind is not None:
            kind[entry.name] = entry
    return listing


def _kind_of(entry: Path, root: Path, listing: DirectoryListing) -> dict[str, Path] | None:
    """Tell where the entry belongs; None where it is gone by now."""
    try:
        mode = os.lstat(entry).st_mode
        if S_ISLNK(mode):
            if not entry.resolve().is_relative_to(root.resolve()):
                return listing.escaping_links
            mode = entry.stat().st_mode
    except FileNotFoundError:
        return listing.other if os.path.lexists(entry) else None
    except (OSError, RuntimeError):  # a loop of links, which Python reports as either
        return listing.other
    if S_ISREG(mode):
        return listing.files
    return listing.directories if S_ISDIR(mode) else listing.other
