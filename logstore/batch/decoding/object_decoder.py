"""Records of magic 2 made into objects in bulk: a kernel reads their fields, and C loops make Python's objects of them.

`record_decoder` does the same one by one, and says what is wrong with a record that cannot be.
"""

import marshal
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.standalone_kernel import StandaloneKernel
from logstore.batch.record import Header, Record

# By its name: kernels stand above this package.
_write_objects: Final = StandaloneKernel("logstore.kernels.objects", "write_objects")

_FIRST_RECORDS: Final = 256
"""Made at once at first, so that one who takes a single record need not wait for thousands."""
_RECORDS: Final = 2_048
_BYTES: Final = 1 << 18
"""Of keys, values and headers each: all that is made at once stays in a core's own cache."""
_GROWTH: Final = 4
_NO_MORE_ROOM: Final = -1
_ANY_OFFSET: Final = -(2**63)


class Section(NamedTuple):
    """Where the records of a batch lie, uncompressed, and what of its header they are counted from."""

    start: int
    end: int
    records: int
    base_offset: int
    last_offset: int
    """The highest that a record may have."""
    base_timestamp: int
    is_append_time: bool
    """Whether `base_timestamp` stands for every record's own."""


class FaultyRecord(NamedTuple):
    """A record that cannot be, or whose offset is not in order: the number of its section, and its number in that."""

    section: int
    record: int


Runs = Generator[Iterator[Record], None, FaultyRecord | None]


class ObjectDecoder:
    """Makes records, more and more at once; one for each reader."""

    def __init__(self) -> None:
        self._records = _FIRST_RECORDS
        self._bytes = _BYTES // 8
        self._take_memory()

    def runs(
        self, data: memoryview, sections: Sequence[Section] | NDArray[np.int64], lowest: int = _ANY_OFFSET
    ) -> Runs:
        """Yield the records of all sections from offset `lowest` on; return the first that cannot be, if there is one.

        Sections are given one by one, or as rows.
        """
        bytes_of_all = np.frombuffer(data.toreadonly(), np.uint8)
        flat, place = np.array(sections, np.int64).reshape(-1), np.zeros(4, np.int64)
        state = _NO_MORE_ROOM
        while state == _NO_MORE_ROOM:
            count, keys, headers, state = _write_objects(
                bytes_of_all, flat, place, lowest, *self._numbers, *self._bytes_of
            )
            if count:
                yield self._made(count, keys, headers)
            elif state == _NO_MORE_ROOM:
                self._bytes *= 2
                self._take_memory()
            self._grow()
        return FaultyRecord(int(place[0]), int(place[1])) if state else None

    def _made(self, count: int, key_total: int, header_total: int) -> Iterator[Record]:
        offsets, timestamps = (numbers[:count].tolist() for numbers in self._numbers[:2])
        keys: Iterable[bytes | None] = repeat(None)
        if key_total:
            keys = marshal.loads(self._bytes_of[0].data)  # noqa: S302  the kernel has written it
        values = marshal.loads(self._bytes_of[1].data)  # noqa: S302  as above
        headers: Iterable[tuple[Header, ...]] = repeat(())
        if header_total:
            parts = marshal.loads(self._bytes_of[2].data)  # noqa: S302  as above
            headers = _headers(parts, self._numbers[2][:count].tolist())
        return _new(Record, zip(offsets, timestamps, keys, values, headers, strict=False))

    def _grow(self) -> None:
        if self._records < _RECORDS:
            self._records = min(self._records * _GROWTH, _RECORDS)
            self._bytes = max(self._bytes, min(self._bytes * _GROWTH, _BYTES))
            self._take_memory()

    def _take_memory(self) -> None:
        self._numbers = list(np.empty((3, self._records), np.int64))
        self._bytes_of = list(np.empty((3, self._bytes), np.uint8))


def _headers(parts: Sequence[Any], counts: Sequence[int]) -> Iterator[tuple[Header, ...]]:
    """Divide headers, whose keys and values come in turn, among their records."""
    keys = map(str, parts[::2], repeat("utf-8"), repeat("replace"))
    headers = _new(Header, zip(keys, parts[1::2], strict=True))
    return (tuple(islice(headers, count)) for count in counts)


def _new(kind: Any, rows: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Make named tuples of tuples in C, without the frame of Python that `_make` takes."""
    return map(cast("Any", tuple.__new__), repeat(kind), rows)
