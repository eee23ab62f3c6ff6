"""Arrow's arrays from columns of numbers and from gathered bytes, without a look at single values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns
from logstore.batch.layout import MAGIC
from logstore.kernels.gather import Gathered
from replication.audit.tables import TIMESTAMP

_MICROSECONDS: Final = 1_000
_MOST_MILLISECONDS: Final = (2**63 - 1) // _MICROSECONDS

TEXTS_AT_ONCE: Final = 65_536
"""Of those that are handled one by one."""
ROWS_REPEATED: Final = 16_384
"""What is repeated at least so often is a part of what was repeated before."""


@dataclass(frozen=True, slots=True)
class Constants:
    """What all rows of a file have in common: its copy and its segment."""

    values: Mapping[str, object]
    """By column."""
    _repeated: dict[str, pa.Array] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def repeated(self, column: pa.Field, count: int) -> pa.Array:
        """Give a column's value in so many rows."""
        made = self._repeated.get(column.name)
        if made is None or len(made) < count:
            made = pa.repeat(pa.scalar(self.values[column.name], column.type), max(count, ROWS_REPEATED))
            self._repeated[column.name] = made
        return made.slice(0, count)


def binaries(gathered: Gathered, is_there: NDArray[np.bool_]) -> pa.Array:
    """Give values that were gathered, null where there is none."""
    nulls = len(is_there) - int(np.count_nonzero(is_there))
    validity = _bits(is_there) if nulls else None
    buffers = [validity, pa.py_buffer(gathered.ends), pa.py_buffer(gathered.values)]
    return pa.Array.from_buffers(pa.binary(), len(is_there), buffers, null_count=nulls)


def texts(gathered: Gathered) -> pa.Array:
    """Give texts that were gathered; what is not UTF-8 in them is replaced, as Java does when it reads a header."""
    count = len(gathered.ends) - 1
    raw = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(gathered.ends), pa.py_buffer(gathered.values)])
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        parts = [raw.slice(first, TEXTS_AT_ONCE) for first in range(0, count, TEXTS_AT_ONCE)]
        return pa.concat_arrays(list(map(_replaced, parts)))


def _replaced(raw: pa.Array) -> pa.Array:
    return pa.array([value.decode(errors="replace") for value in raw.to_pylist()], pa.string())


def lists(fields: Mapping[str, pa.Array], counts: NDArray[np.int32]) -> pa.Array:
    """Give structs in lists of these lengths; a list of none is null."""
    ends = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=ends[1:])
    structs = pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
    return pa.ListArray.from_arrays(pa.array(ends), structs, mask=pa.array(counts == 0))


def booleans(values: NDArray[np.bool_]) -> pa.Array:
    """Give truth values."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])


def _bits(values: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def timestamps(milliseconds: NDArray[np.int64]) -> pa.Array:
    """Give timestamps; null where one lies beyond what Spark's can be."""
    is_possible = (milliseconds <= _MOST_MILLISECONDS) & (milliseconds >= -_MOST_MILLISECONDS)
    if is_possible.all():
        return pa.array(milliseconds * _MICROSECONDS).view(TIMESTAMP)
    microseconds = np.where(is_possible, milliseconds, 0) * _MICROSECONDS
    return pa.array(microseconds, pa.int64(), mask=~is_possible).view(TIMESTAMP)


def flags_of(columns: BatchColumns, bit: int) -> NDArray[np.bool_]:
    """Read a flag that only batches of magic 2 have."""
    flags: Any = (columns.attributes & bit != 0) & (columns.magic == MAGIC)
    return flags  # type: ignore[no-any-return]  # an array
