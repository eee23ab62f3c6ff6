"""What a block device was told, in order: writes, flushes, and the marks of those who use it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Self

HEADER = Struct("<cQQ")


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes were written; they may be lost until the next flush."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Flush:
    """All that was written before is on stable storage."""


@dataclass(frozen=True, slots=True)
class Mark:
    """No request: somebody who uses the device says that something is true from here on."""

    number: int


Entry = Write | Flush | Mark


class Recorder:
    """Appends entries to a file."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("wb", buffering=0)

    def add(self, entry: Entry) -> None:
        match entry:
            case Write(offset, data):
                self._file.write(HEADER.pack(b"w", offset, len(data)) + data)
            case Flush():
                self._file.write(HEADER.pack(b"f", 0, 0))
            case Mark(number):
                self._file.write(HEADER.pack(b"m", number, 0))

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_recording(path: Path) -> Iterator[Entry]:
    """Read the entries of a file that is complete."""
    with path.open("rb") as file:
        while header := file.read(HEADER.size):
            kind, number, size = HEADER.unpack(header)
            match kind:
                case b"w":
                    yield Write(number, file.read(size))
                case b"f":
                    yield Flush()
                case b"m":
                    yield Mark(number)
                case _:
                    raise ValueError(f"{path}: no entry begins with {kind!r}")
