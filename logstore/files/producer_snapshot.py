"""`{offset:020d}.snapshot`: the state of the log's producers when it ended at that offset (KIP-98).

Kafka's ProducerStateManager writes one when it rolls a segment and when it closes, to detect duplicates and open
transactions after a restart without reading the whole log.
"""

from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from epoch.base.resource_limits import read_bounded
from logstore.checksum import crc32c
from logstore.errors import CorruptSnapshotError

_HEADER: Final = Struct(">hIi")
_CRC_END: Final = 6
_VERSION_AND_CRC: Final = Struct(">hI")
_COUNT: Final = Struct(">i")
_ENTRY: Final = Struct(">qhiqiqiq")
_VERSION: Final = 1
_MAX_BYTES: Final = 256 << 20
_ADVICE: Final = "remove it, and Kafka rebuilds the producers' state from an earlier snapshot and the log"


class ProducerStateEntry(NamedTuple):
    """The last batch of one producer (Kafka: ProducerStateEntry); -1 where a producer has written none yet."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    """The last batch's last offset minus its first."""
    timestamp: int
    """The last batch's largest, in milliseconds since 1970 UTC."""
    coordinator_epoch: int
    """Of the coordinator that wrote the producer's last transaction marker."""
    current_transaction_first_offset: int
    """Where its open transaction began."""


class ProducerSnapshot(NamedTuple):
    """The producers that were active, in no particular order."""

    entries: tuple[ProducerStateEntry, ...]

    def __repr__(self) -> str:
        return f"ProducerSnapshot({len(self.entries):,} producers)"

    @classmethod
    def read(cls, path: Path) -> "ProducerSnapshot":
        """Read a whole snapshot file. Raises CorruptSnapshotError, and OSError where it cannot be read."""
        with open(path, "rb", buffering=0) as file:
            return cls.parse(read_bounded(file, _MAX_BYTES), path)

    @classmethod
    def parse(cls, data: bytes, path: Path | None = None) -> "ProducerSnapshot":
        """Read a snapshot file's bytes: version, CRC-32C of what follows it, count, entries."""
        if not _HEADER.size <= len(data) <= _MAX_BYTES:
            raise CorruptSnapshotError(f"{len(data):,} bytes are no producer snapshot", file=path, advice=_ADVICE)
        version, crc, count = _HEADER.unpack_from(data)
        if version != _VERSION:
            raise CorruptSnapshotError(f"version {version} is not {_VERSION}", file=path, position=0, advice=_ADVICE)
        if crc32c(memoryview(data)[_CRC_END:]) != crc:
            raise CorruptSnapshotError("the checksum does not match", file=path, position=2, advice=_ADVICE)
        size = len(data) - _HEADER.size
        if count < 0 or count * _ENTRY.size != size:
            raise CorruptSnapshotError(
                f"{size:,} bytes are not {count:,} entries", file=path, position=_CRC_END, advice=_ADVICE
            )
        return cls(tuple(map(ProducerStateEntry._make, _ENTRY.iter_unpack(memoryview(data)[_HEADER.size :]))))

    def encode(self) -> bytes:
        """Return a snapshot file's bytes, the entries in their order here; Kafka's order is that of a hash map.

        >>> ProducerSnapshot.parse(snapshot.encode()) == snapshot
        """
        counted = _COUNT.pack(len(self.entries)) + b"".join(_ENTRY.pack(*entry) for entry in self.entries)
        return _VERSION_AND_CRC.pack(_VERSION, crc32c(counted)) + counted
