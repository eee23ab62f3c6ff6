"""Many values that are written in the same number of bytes each."""

from collections.abc import Iterator, Sequence
from struct import Struct as Layout
from struct import pack
from typing import Any, Final, NamedTuple, Self

from replication.records.codec.field import Field, getter_of_all

_MANY: Final = 5
"""It takes longer to look whether all that may be empty is so than to write fewer values one at a time."""


class Columns:
    """Many values by their fields, in the order of the class: who has them so need make no tuple of each."""

    def __init__(self, *columns: Sequence[Any]) -> None:
        """Create it from columns of equal length, one for each field."""
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.columns, strict=True)

    def in_blocks(self, size: int) -> "Iterator[Columns]":
        """Yield so many of the values after another."""
        for start in range(0, len(self), size):
            yield Columns(*(each[start : start + size] for each in self.columns))


class _Blanks(NamedTuple):
    """A field with a count before its content, and what is written where there is no content."""

    place: int
    """Of the count in a row."""
    column: int
    """Of the field among all of the class."""
    null: bytes | None
    """None where it must not be null."""
    nothing: bytes

    def found(self, columns: Sequence[Sequence[Any]]) -> bytes | None:
        """Return the count that all values have; None if they have content, or are not all alike."""
        contents = columns[self.column]
        first = contents[0]
        if first or contents.count(first) < len(contents):
            return None
        return self.null if first is None else self.nothing


class Rows:
    """Numbers, and strings, bytes and arrays without content: one call packs each value.

    So are most parts of answers: a partition without news, an error without a message. Values are looked at by columns,
    each of which a few calls see through.
    """

    def __init__(self, kind: Any, every: Sequence[Field], layout: Layout, blanks: Sequence[_Blanks]) -> None:
        """See `of`."""
        plain = [(column, field) for column, field in enumerate(every) if field.present]
        self._contents: Final = None if issubclass(kind, tuple) else getter_of_all(kind, [each.name for each in every])
        self._pack: Final = layout.pack
        self._size: Final = layout.size
        self._numbers: Final = [column for column, field in plain if field.tag is None and field.type.is_number]
        self._tags: Final = [(column, field.default) for column, field in plain if field.tag is not None]
        self._blanks: Final = blanks
        self.readable: Final = None if blanks else layout
        """How a row is unpacked; None where there may be more than numbers."""

    @classmethod
    def of(cls, kind: Any, every: Sequence[Field], *, flexible: bool) -> Self | None:
        """Return the rows of a class with these fields; None where each value has something else."""
        plain = [field for field in every if field.present and field.tag is None]
        fit = all(field.type.is_number or field.type.blanks for field in plain)
        if not fit or not any(field.type.is_number for field in plain):
            return None
        layout, blanks = "", []
        for field in plain:
            if field.type.is_number:
                layout += field.type.letter
            else:
                blanks.append(_blanks(every.index(field), field, Layout(">" + layout).size))
                layout += "x" * Layout(">" + field.type.letter).size
        return cls(kind, every, Layout(">" + layout + "x" * flexible), blanks)

    def packed(self, values: Sequence[Any] | Columns) -> bytearray | None:
        """Return the bytes of values; None where some have tags or content. Raises struct.error and ValueError."""
        if not values or (len(values) < _MANY and (self._blanks or self._tags)):
            return None
        columns = self._columns(values)
        if any(columns[column].count(default) < len(values) for column, default in self._tags):
            return None
        counts: list[bytes] = []
        for blanks in self._blanks:
            count = blanks.found(columns)
            if count is None:
                return None
            counts.append(count)
        rows = bytearray().join(map(self._pack, *(columns[column] for column in self._numbers)))
        for blanks, count in zip(self._blanks, counts, strict=True):
            for place, byte in enumerate(count, blanks.place):
                rows[place :: self._size] = bytes([byte]) * len(values)
        return rows

    def _columns(self, values: Sequence[Any] | Columns) -> Sequence[Sequence[Any]]:
        if isinstance(values, Columns):
            return values.columns
        return tuple(zip(*(values if self._contents is None else map(self._contents, values)), strict=True))


def _blanks(column: int, field: Field, place: int) -> _Blanks:
    counts = {content is None: pack(">" + field.type.letter, number) for number, content in field.type.blanks.items()}
    return _Blanks(place, column, counts.get(True), counts[False])
