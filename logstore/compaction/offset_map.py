"""The latest offset of each key in the part of a log that compaction looks at (Kafka: OffsetMap)."""

from hashlib import blake2b
from typing import Final

from logstore.log_config import DEDUPE_BUFFER_BYTES

LONGEST_KEY: Final = 32
"""Bytes; of longer keys a digest is kept, which has this length itself."""
BYTES_PER_KEY: Final = 200
"""At most so much memory a key takes: the key or its digest, its offset, and its place in the dictionary."""
NO_OFFSET: Final = -1


class OffsetMap:
    """Filled in the order of the log, as far as its memory reaches."""

    __slots__ = ("_max_keys", "_offsets", "latest_offset")

    def __init__(self, max_keys: int = DEDUPE_BUFFER_BYTES // BYTES_PER_KEY) -> None:
        """Know no keys, and take up to `max_keys`."""
        self._offsets: dict[bytes, int] = {}
        self._max_keys = max_keys
        self.latest_offset: int = NO_OFFSET
        """Up to here the log was looked at: what lies behind it is kept."""

    def __len__(self) -> int:
        return len(self._offsets)

    def put(self, key: bytes, offset: int) -> bool:
        """Note a record; return False, with nothing noted, where the map is full.

        A full map takes known keys no more than new ones: the log is looked at up to the record before.
        """
        if len(self._offsets) >= self._max_keys:
            return False
        self._offsets[_short(key)] = self.latest_offset = offset
        return True

    def latest(self, key: bytes) -> int:
        """Return the latest offset of a key; -1 where it was not seen."""
        return self._offsets.get(_short(key), NO_OFFSET)


def _short(key: bytes) -> bytes:
    return key if len(key) < LONGEST_KEY else blake2b(key, digest_size=LONGEST_KEY).digest()
