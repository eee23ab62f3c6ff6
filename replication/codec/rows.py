"""Many values that are written in the same number of bytes each."""

from collections.abc import Callable, Sequence
from itertools import starmap
from struct import Struct as Layout
from struct import pack
from typing import Any, Final, NamedTuple, Self

from replication.codec.field import Field, getter, getter_of_all

_MANY: Final = 5
"""It takes longer to look whether all that may be empty is so than to write fewer values one at a time."""


class _Blanks(NamedTuple):
    """A field with a count before its content, and what is written where there is no content."""

    place: int
    """Of the count in a row."""
    content: Callable[[Any], Any]
    null: bytes | None
    """None where it must not be null."""
    nothing: bytes

    def found(self, values: Sequence[Any]) -> bytes | None:
        """Return the count that all values have; None if one has a content, or some are null and others are not."""
        contents = [*map(self.content, values)]
        if any(contents):
            return None
        nulls = contents.count(None)
        return self.null if nulls == len(contents) else self.nothing if not nulls else None


class Rows:
    """Numbers, and strings, bytes and arrays without content: one call packs each value.

    So are most parts of answers: a partition without news, an error without a message.
    """

    def __init__(self, kind: Any, plain: Sequence[Field], layout: Layout, blanks: Sequence[_Blanks]) -> None:
        """See `of`."""
        self._pack: Final = layout.pack
        self._size: Final = layout.size
        self._numbers: Final = getter_of_all(kind, [field.name for field in plain if field.type.is_number])
        self._blanks: Final = blanks
        self.readable: Final = None if blanks else layout
        """How a row is unpacked; None where there may be more than numbers."""

    @classmethod
    def of(cls, kind: Any, plain: Sequence[Field], *, flexible: bool) -> Self | None:
        """Return the rows of a class with these fields and no tags; None where each value has something else."""
        fit = all(field.type.is_number or field.type.blanks for field in plain)
        if not fit or not any(field.type.is_number for field in plain):
            return None
        layout, blanks = "", []
        for field in plain:
            if field.type.is_number:
                layout += field.type.letter
            else:
                blanks.append(_blanks(kind, field, Layout(">" + layout).size))
                layout += "x" * Layout(">" + field.type.letter).size
        return cls(kind, plain, Layout(">" + layout + "x" * flexible), blanks)

    def packed(self, values: Sequence[Any]) -> bytearray | None:
        """Return the bytes of values without tags; None where some have content. Raises struct.error."""
        if self._blanks and len(values) < _MANY:
            return None
        counts: list[bytes] = []
        for blanks in self._blanks:
            count = blanks.found(values)
            if count is None:
                return None
            counts.append(count)
        rows = bytearray().join(starmap(self._pack, map(self._numbers, values)))
        for blanks, count in zip(self._blanks, counts, strict=True):
            for place, byte in enumerate(count, blanks.place):
                rows[place :: self._size] = bytes([byte]) * len(values)
        return rows


def _blanks(kind: Any, field: Field, place: int) -> _Blanks:
    counts = {content is None: pack(">" + field.type.letter, number) for number, content in field.type.blanks.items()}
    return _Blanks(place, getter(kind, [field.name]), counts.get(True), counts[False])
