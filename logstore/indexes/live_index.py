"""What the offset and time index of a segment in use share: entries in memory, and a file that is brought after them.

That happens when the segment is flushed, rolled or closed.
"""

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from sys import byteorder
from typing import Any, ClassVar, Final, Self

from epoch.compiling.awaited_kernel import AwaitedKernel
from epoch.filesystem import REAL, FileSystem
from logstore.files.index_slots import read_index

MANY_LOOKUPS: Final = 1_000
"""After so many in an index the compiled search is worth its loading."""


class LiveIndex(ABC):
    """An index whose file, of fixed slots, only grows at its end and is cut there.

    One thread changes it; others may look things up meanwhile.
    """

    __slots__ = (
        "_bytes",
        "_compiled_floor",
        "_filesystem",
        "_lookups",
        "_saved",
        "_unsynced",
        "base_offset",
        "max_entries",
        "path",
    )

    _slot: ClassVar[int]
    """Bytes of an entry in the file."""

    def __init__(
        self, path: Path, base_offset: int, max_bytes: int, filesystem: FileSystem = REAL, data: bytes | None = None
    ) -> None:
        """Create an index from the file's content, None if there is no file; `max_bytes` is `segment_index_bytes`.

        Raises CorruptIndexError.
        """
        self.path: Path = path
        """Where the entries are kept."""
        self.base_offset: int = base_offset
        self.max_entries: int = max_bytes // self._slot
        self._filesystem = filesystem
        self._saved = self._take(data or b"")
        self._bytes = -1 if data is None else len(data)
        self._unsynced = False
        self._lookups = 0
        self._compiled_floor: Callable[[array[int], array[int], int, int], int] | None = None

    @classmethod
    def open(cls, path: Path, base_offset: int, max_bytes: int, filesystem: FileSystem = REAL) -> Self:
        """Read the file; one that is missing counts as empty. Zeros after the entries count for nothing.

        Raises OSError, CorruptIndexError.
        """
        try:
            data = read_index(path)
        except FileNotFoundError:
            return cls(path, base_offset, max_bytes, filesystem)
        return cls(path, base_offset, max_bytes, filesystem, data)

    @abstractmethod
    def __len__(self) -> int:
        """Count the entries."""

    @abstractmethod
    def _take(self, data: bytes) -> int:
        """Begin with the entries in the file's bytes; return how many. Raises CorruptIndexError."""

    @abstractmethod
    def _encode(self, first: int) -> bytes:
        """Return the slots of the entries from `first` on."""

    def encode(self) -> bytes:
        """Return the file's bytes with all entries."""
        return self._encode(0)

    def save(self, *, sync: bool) -> None:
        """Bring the file up to date; with `sync` it is on stable storage then.

        Raises OSError. A failure in between leaves the file to be written anew by the next call.
        """
        entries = len(self)
        is_saved = self._bytes >= 0 and self._bytes == self._saved * self._slot and self._saved == entries
        if is_saved and not (sync and self._unsynced):
            return
        if self._bytes > self._saved * self._slot:
            # Zeros follow the entries. They are cut off, as a crash must not take the entries along.
            self._filesystem.truncate(self.path, self._saved * self._slot)
            self._bytes = self._saved * self._slot
        whole = self._bytes < 0
        first = 0 if whole else self._saved
        self._bytes, self._saved, self._unsynced = -1, 0, True
        descriptor = self._filesystem.open(self.path, truncate=whole)
        try:
            if not is_saved:
                self._filesystem.write(descriptor, self._encode(first))
            if sync:
                self._filesystem.fsync(descriptor)
                self._unsynced = False
        finally:
            self._filesystem.close(descriptor)
        self._saved, self._bytes = entries, entries * self._slot

    def renamed(self, path: Path) -> None:
        """Follow the file to its new name."""
        self.path = path

    def _floor(self, keys: "array[int]", values: "array[int]", key: int, below: int) -> int:
        """Do as the kernel `floor_value` does, which is loaded after many lookups."""
        self._lookups += 1
        if self._lookups >= MANY_LOOKUPS:
            self._compiled_floor = FLOORS[keys.typecode].ready()
        number = bisect_right(keys, key)
        return values[number - 1] if number else below

    def _cut(self) -> None:
        """Drop the saved slots whose entries are gone. Raises OSError."""
        entries = len(self)
        if self._saved > entries:
            self._filesystem.truncate(self.path, entries * self._slot)
            self._saved, self._bytes, self._unsynced = entries, entries * self._slot, True


def words_of(slots: bytes) -> "array[int]":
    """Read the numbers of four bytes that slots consist of."""
    words = array("i", slots)
    if byteorder == "little":
        words.byteswap()
    return words


def big_endian(words: "array[int]") -> bytes:
    """Return such numbers as files have them; the array is used up."""
    if byteorder == "little":
        words.byteswap()
    return words.tobytes()


def load_floor(keys: str, values: str) -> Any:
    """Load the kernel for an index whose arrays have these types."""
    from epoch.compiling.kernel import machine_code  # noqa: PLC0415  numba loads on the first bulk operation
    from logstore.kernels.locate import floor_value  # noqa: PLC0415  numba again

    # By empty arrays: while those of the index are looked at in Python nobody could append to them.
    return machine_code(floor_value, array(keys), array(values), 0, 0)


FLOORS: Final = {
    "i": AwaitedKernel(lambda: load_floor("i", "I"), patience=1),
    "q": AwaitedKernel(lambda: load_floor("q", "q"), patience=1),
}
"""By the type of the keys, of an offset index and of a time index."""
