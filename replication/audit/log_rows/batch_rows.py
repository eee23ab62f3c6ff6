"""Batches as Arrow's record batches, of those columns alone that are asked for."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from logstore.batch.batch_attributes import CODEC_BITS, CONTROL_BIT, TRANSACTIONAL_BIT
from logstore.batch.columns import BatchColumns
from logstore.batch.compression.codec import Codec
from logstore.offline.log_file import LogFile
from replication.audit.log_rows.arrow_arrays import Constants, flags_of
from replication.audit.log_rows.corrupt_rows import CorruptRows, ReadMode, wrong_checksum

_CODECS: Final = pa.array([Codec(code).name.lower() if code in set(Codec) else str(code) for code in range(8)])


def batch_rows(_log: LogFile, columns: BatchColumns, corrupt: CorruptRows) -> Iterator[pa.RecordBatch]:
    """Give batches as rows; see `SegmentReader`."""
    for row in np.flatnonzero(~columns.crc_valid).tolist():
        corrupt.refuse(wrong_checksum(columns, row), int(columns.position[row]), int(columns.base_offset[row]))
    if corrupt.mode is ReadMode.DROPMALFORMED:
        columns = columns.where(columns.crc_valid)
    arrays = [_array(field, columns, corrupt.constants) for field in corrupt.schema]
    yield pa.RecordBatch.from_arrays(arrays, schema=corrupt.schema)


def _array(field: pa.Field, columns: BatchColumns, constants: Constants) -> pa.Array:
    if field.name in constants:
        return constants.repeated(field, len(columns))
    derive = _DERIVED.get(field.name)
    values = derive(columns) if derive else getattr(columns, field.name)
    return values if isinstance(values, pa.Array) else pa.array(values, field.type)


def _corrupt(columns: BatchColumns) -> pa.Array:
    texts: list[str | None] = [None] * len(columns)
    for row in np.flatnonzero(~columns.crc_valid).tolist():
        texts[row] = wrong_checksum(columns, row)
    return pa.array(texts, pa.string())


_DERIVED: Final[dict[str, Callable[[BatchColumns], Any]]] = {
    "codec": lambda columns: _CODECS.take(pa.array(columns.attributes & CODEC_BITS)),
    "is_transactional": lambda columns: flags_of(columns, TRANSACTIONAL_BIT),
    "is_control": lambda columns: flags_of(columns, CONTROL_BIT),
    "crc": lambda columns: columns.crc.astype(np.int64),
    "corrupt": _corrupt,
}
