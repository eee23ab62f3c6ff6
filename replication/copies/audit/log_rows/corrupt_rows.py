"""What a read does about what cannot be read: a row that stands for it, nothing, or an error."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from logstore.batch.columns import BatchColumns
from logstore.errors import CorruptBatchError
from replication.copies.audit.log_rows.arrow_arrays import Constants

_ADVICE: Final = "read with mode PERMISSIVE for a row about each such place, and take the rest from another replica"


class ReadMode(Enum):
    """The option `mode`, in the words of Spark's own readers."""

    PERMISSIVE = "PERMISSIVE"
    """A row for each batch, or stretch of bytes, that cannot be read: `corrupt` says why, and the place is there."""
    DROPMALFORMED = "DROPMALFORMED"
    """It is left out."""
    FAILFAST = "FAILFAST"
    """The first one ends the read with an error."""


@dataclass(frozen=True, slots=True)
class CorruptRows:
    """Does what the mode says about what is corrupt in one file."""

    mode: ReadMode
    path: Path
    constants: Constants
    schema: pa.Schema

    def refuse(self, what: str, position: int, base_offset: int | None = None) -> None:
        """Raise CorruptBatchError in mode FAILFAST."""
        if self.mode is ReadMode.FAILFAST:
            raise CorruptBatchError(what, file=self.path, position=position, offset=base_offset, advice=_ADVICE)

    def give(self, what: str, position: int, base_offset: int | None = None, **values: Any) -> Iterator[pa.RecordBatch]:
        """Give one row, in which nothing else is set than these values, the copy and the segment, or none.

        Raises what `refuse` raises.
        """
        self.refuse(what, position, base_offset)
        if self.mode is ReadMode.PERMISSIVE:
            row = {**self.constants.values, "position": position, "base_offset": base_offset, "corrupt": what, **values}
            yield pa.RecordBatch.from_pylist([{name: row.get(name) for name in self.schema.names}], schema=self.schema)


def wrong_checksum(columns: BatchColumns, row: int) -> str:
    """Return the message for a batch whose checksum does not match."""
    return f"the checksum of the batch with offsets {offsets_of(columns, row)} does not match"


def cannot_be_decoded(columns: BatchColumns, row: int, error: object) -> str:
    """Return why the records of a batch with a right checksum cannot be read."""
    return f"the records of the batch with offsets {offsets_of(columns, row)} cannot be read: {error}"


def offsets_of(columns: BatchColumns, row: int) -> str:
    """Name the offsets of a batch."""
    return f"{columns.base_offset[row]}..{columns.last_offset[row]}"
