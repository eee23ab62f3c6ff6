"""Arrow's arrays from columns of numbers and from gathered bytes, without a look at single values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns
from logstore.batch.layout import MAGIC
from replication.copies.audit.tables import MOST_MILLISECONDS, TIMESTAMP

_MICROSECONDS: Final = 1_000

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


def timestamps(milliseconds: NDArray[np.int64]) -> pa.Array:
    """Give timestamps; null where one lies beyond what Spark's can be."""
    is_possible = (milliseconds <= MOST_MILLISECONDS) & (milliseconds >= -MOST_MILLISECONDS)
    if is_possible.all():
        return pa.array(milliseconds * _MICROSECONDS).view(TIMESTAMP)
    microseconds = np.where(is_possible, milliseconds, 0) * _MICROSECONDS
    return pa.array(microseconds, pa.int64(), mask=~is_possible).view(TIMESTAMP)


def flags_of(columns: BatchColumns, bit: int) -> NDArray[np.bool_]:
    """Read a flag that only batches of magic 2 have."""
    flags: Any = (columns.attributes & bit != 0) & (columns.magic == MAGIC)
    return flags  # type: ignore[no-any-return]  # an array
