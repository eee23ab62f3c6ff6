"""The small files of a history: one for each copy or partition, whole or of no use."""

import hashlib
import json
from collections.abc import Collection
from functools import lru_cache
from typing import Final, NamedTuple

from logstore.checksum import crc32c
from replication.base.errors import UnreadableLocationError
from replication.base.json_object import Json
from replication.copies.audit.snapshots.storage import Storage

_CRC_BYTES: Final = 4
_MOST_BYTES: Final = 1 << 30
_REMEMBERED: Final = 1024
_UNFINISHED: Final = ".tmp"
_A_DAY_NS: Final = 86_400 * 10**9
"""Whoever has not finished writing a file after so long was killed."""


class KeptFile(NamedTuple):
    """Where a file lies below a directory of the history."""

    directory: str
    name: str

    @classmethod
    def of(cls, identity: str, suffix: str) -> "KeptFile":
        """Name the file of what is called so: by a digest, as replicas may be called anything."""
        digest = _digest(identity)
        return cls(digest[:2], f"{digest[2:]}{suffix}")

    def read(self, place: Storage) -> bytes | None:
        """Read it, below a place; None where it is not there. Raises OSError."""
        try:
            return _child(place, self.directory).read(self.name, _MOST_BYTES)
        except FileNotFoundError:
            return None

    def write(self, place: Storage, data: bytes) -> None:
        """Give it new contents, whole or not at all unless the power is lost. Raises OSError."""
        _child(place, self.directory).write(self.name, data, durably=False)

    def remove(self, place: Storage) -> None:
        """Remove it, if it is there. Raises OSError."""
        _child(place, self.directory).remove(self.name)

    def read_json(self, place: Storage) -> Json | None:
        """Read an object that `write_json` has written; None where there is none, or it is not whole any more."""
        try:
            data = self.read(place)
            if data is None or crc32c(data[_CRC_BYTES:]) != int.from_bytes(data[:_CRC_BYTES]):
                return None
            found: Json = json.loads(data[_CRC_BYTES:])
        except (OSError, ValueError, RecursionError):  # what it would spare is done instead
            return None
        return found

    def write_json(self, place: Storage, content: Json) -> None:
        """Write an object behind its checksum. Raises OSError."""
        data = json.dumps(content, separators=(",", ":")).encode()
        self.write(place, crc32c(data).to_bytes(_CRC_BYTES) + data)


def remove_others(place: Storage, files: Collection[KeptFile], now_ns: int) -> None:
    """Remove the files below a place that are not among these, but not what others are just writing. Raises OSError."""
    kept = set(files)
    try:
        tree = place.tree(depth=1)
    except UnreadableLocationError:  # nothing was kept so far
        return
    for directory, names in tree.items():
        others = [name for name in names if KeptFile(directory, name) not in kept]
        stored = place.child(directory).stored_files() if any(map(_is_unfinished, others)) else {}
        for name in others:
            if not _is_unfinished(name) or (name in stored and stored[name].modified_ns < now_ns - _A_DAY_NS):
                place.child(directory).remove(name)


@lru_cache(_REMEMBERED)
def _digest(identity: str) -> str:
    return hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()


@lru_cache(_REMEMBERED)
def _child(place: Storage, directory: str) -> Storage:
    return place.child(directory)


def _is_unfinished(name: str) -> bool:
    return name.endswith(_UNFINISHED)
