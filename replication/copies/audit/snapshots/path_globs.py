"""Patterns in the paths of snapshots, as Spark's file sources take them: `/backup/*/`, `s3://backups/{b1,b2}/data-[0-9]`."""

import os
import re
from collections.abc import Iterator, Sequence
from errno import ENOENT
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from replication.base.errors import NotAllowedError, UnreadableLocationError
from replication.copies.audit.snapshots.snapshot import ARGUMENT
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.planning.broker_roots import looked_into

_WILD: Final = re.compile(r"[*?\[]")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
MOST_ALTERNATIVES: Final = 1_000


def matching(arguments: Sequence[str]) -> list[str]:
    """Name what each `[NAME=]URI` matches.

    `*`, `?`, `[a-c]` and `[^a]` stand for signs of one name, `{a,b}` for one of both. What is there under the very name
    is meant by it, and names that begin with a dot by patterns that do. Raises UnreadableLocationError where nothing
    matches, and NotAllowedError for more than MOST_ALTERNATIVES.
    """
    return [each for argument in arguments for each in _matches_of(argument)]


def _matches_of(argument: str) -> list[str]:
    found = ARGUMENT.fullmatch(argument)
    if found is None or _exists(argument):
        return [argument]
    storage = Storage(found["uri"])
    path = str(storage.path) if storage.is_local else urlsplit(storage.uri).path
    if not (_WILD.search(path) or _BRACES.search(path)) or (storage.is_local and _exists(path)):
        return [argument]
    name = f"{found['name']}=" if found["name"] else ""
    matches = [place for each in _alternatives(path) for place in _places(storage, each)]
    if not matches:
        raise UnreadableLocationError(storage.shown, OSError(ENOENT, "no directory matches this pattern"))
    return [f"{name}{uri}" for uri in dict.fromkeys(place.uri for place in matches)]


def _exists(path: str) -> bool:
    return os.path.exists(path)  # noqa: PTH110  false for a name that is too long, too


def _alternatives(path: str) -> list[str]:
    """Write out each choice between braces, those within others first."""
    paths = [path]
    while any(map(_BRACES.search, paths)):
        paths = [written for each in paths for written in _chosen(each)]
        if len(paths) > MOST_ALTERNATIVES:
            raise NotAllowedError("a path", path, f"{MOST_ALTERNATIVES:,} choices between braces at most")
    return paths


def _chosen(path: str) -> list[str]:
    found = _BRACES.search(path)
    if found is None:
        return [path]
    return [f"{path[: found.start()]}{choice}{path[found.end() :]}" for choice in found[1].split(",")]


def _places(storage: Storage, path: str) -> Iterator[Storage]:
    """Find the directories that a path without braces matches."""
    parts = [part for part in path.split("/") if part]
    known = next((number for number, part in enumerate(parts) if _WILD.search(part)), len(parts) - 1)
    above = ("/" if path.startswith("/") else "") + "/".join(parts[:known])
    if storage.is_local:
        base = Storage(above or ".")
    else:
        base = Storage(urlunsplit(urlsplit(storage.uri)._replace(path=above)))
    yield from _below(base, parts[known:])


def _below(storage: Storage, parts: Sequence[str]) -> Iterator[Storage]:
    if not parts:
        yield storage
        return
    pattern = (parts[0] if storage.is_local else unquote(parts[0])).replace("[^", "[!")
    names = _names_in(storage)
    matches = {name for name in names if fnmatchcase(name, pattern) and name.startswith(".") <= pattern.startswith(".")}
    for name in sorted(looked_into(matches) if _WILD.search(pattern) else matches):
        yield from _below(storage.child(name), parts[1:])


def _names_in(storage: Storage) -> list[str]:
    """Name the directories in one; none where one choice of a pattern leads to no directory."""
    try:
        return storage.directories()
    except UnreadableLocationError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return []
        raise
