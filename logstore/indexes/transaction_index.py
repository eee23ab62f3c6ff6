"""A segment's `.txnindex` file: the aborted transactions that end in it (KIP-98; Kafka: TransactionIndex)."""

from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from epoch.base.resource_limits import NamingLimits, read_bounded
from logstore.errors import CorruptIndexError

_ENTRY: Final = Struct(">hqqqq")
ENTRY_BYTES: Final = _ENTRY.size
_VERSION: Final = 0
_MAX_BYTES: Final = 256 << 20
_ADVICE: Final = "remove it, and Kafka builds it again from the log when it recovers"


class AbortedTransaction(NamedTuple):
    """Readers of committed records skip this producer's records between the two offsets (Kafka: AbortedTxn)."""

    producer_id: int
    first_offset: int
    last_offset: int
    """Of the abort marker."""
    last_stable_offset: int
    """The first offset of a transaction that was open when this one ended, else the offset after `last_offset`."""

    def encode(self) -> bytes:
        """Return the entry's 34 bytes."""
        return _ENTRY.pack(_VERSION, *self)


@dataclass(frozen=True, slots=True)
class TransactionIndex:
    """The entries in the order of their abort markers."""

    entries: tuple[AbortedTransaction, ...]
    odd_bytes: int
    """Bytes after the last whole entry: a write that a crash cut off."""

    def __repr__(self) -> str:
        return f"TransactionIndex({len(self.entries):,} aborted transactions)"

    @classmethod
    def read(cls, path: Path) -> "TransactionIndex":
        """Read a whole index file. Raises CorruptIndexError, and OSError where it cannot be read."""
        with NamingLimits(path), open(path, "rb", buffering=0) as file:
            return cls.parse(read_bounded(file, _MAX_BYTES), path)

    @classmethod
    def parse(cls, data: bytes, path: Path | None = None) -> "TransactionIndex":
        """Read an index file's bytes."""
        if len(data) > _MAX_BYTES:
            raise CorruptIndexError("it is larger than any transaction index", file=path, advice=_ADVICE)
        whole = len(data) - len(data) % _ENTRY.size
        entries = []
        for number, (version, *fields) in enumerate(_ENTRY.iter_unpack(memoryview(data)[:whole])):
            if version != _VERSION:
                raise CorruptIndexError(
                    f"an entry has version {version}, not {_VERSION}",
                    file=path,
                    position=number * _ENTRY.size,
                    advice=_ADVICE,
                )
            entries.append(AbortedTransaction(*fields))
        return cls(tuple(entries), len(data) - whole)

    def encode(self) -> bytes:
        """Return the file's bytes, the whole entries only."""
        return b"".join(entry.encode() for entry in self.entries)
