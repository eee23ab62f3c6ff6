"""Batches as Arrow's record batches, of those columns alone that are asked for."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from logstore.batch.batch_attributes import CODEC_BITS, CONTROL_BIT, TRANSACTIONAL_BIT
from logstore.batch.columns import BatchColumns
from logstore.batch.compression.codec import Codec
from replication.copies.audit.log_rows.arrow_arrays import Constants, flags_of
from replication.copies.audit.log_rows.corrupt_rows import CorruptRows, ReadMode, wrong_checksum

_CODECS: Final = pa.array([Codec(code).name.lower() if code in set(Codec) else str(code) for code in range(8)])


def batch_rows(columns: BatchColumns, corrupt: CorruptRows, undecodable: Mapping[int, str]) -> Iterator[pa.RecordBatch]:
    """Give batches as rows; `undecodable` says, by position, why records that were looked for cannot be read."""
    reasons = _reasons(columns, undecodable)
    for row, reason in reasons.items():
        corrupt.refuse(reason, int(columns.position[row]), int(columns.base_offset[row]))
    if corrupt.mode is ReadMode.DROPMALFORMED and reasons:
        columns, reasons = columns.where(~np.isin(np.arange(len(columns)), [*reasons])), {}
    arrays = [_array(field, columns, reasons, corrupt.constants) for field in corrupt.schema]
    yield pa.RecordBatch.from_arrays(arrays, schema=corrupt.schema)


def _reasons(columns: BatchColumns, undecodable: Mapping[int, str]) -> dict[int, str]:
    """Return, by row, why batches cannot be read."""
    reasons = {row: wrong_checksum(columns, row) for row in np.flatnonzero(~columns.crc_valid).tolist()}
    if undecodable:
        rows = np.flatnonzero(np.isin(columns.position, [*undecodable])).tolist()
        reasons |= {row: undecodable[int(columns.position[row])] for row in rows}
    return dict(sorted(reasons.items()))


def _array(field: pa.Field, columns: BatchColumns, reasons: Mapping[int, str], constants: Constants) -> pa.Array:
    if field.name in constants:
        return constants.repeated(field, len(columns))
    if field.name == "corrupt":
        texts = map(reasons.get, range(len(columns)))
        return pa.array(texts, pa.string(), size=len(columns)) if reasons else pa.nulls(len(columns), pa.string())
    derive = _DERIVED.get(field.name)
    values = derive(columns) if derive else getattr(columns, field.name)
    return values if isinstance(values, pa.Array) else pa.array(values, field.type)


_DERIVED: Final[dict[str, Callable[[BatchColumns], Any]]] = {
    "codec": lambda columns: _CODECS.take(pa.array(columns.attributes & CODEC_BITS)),
    "is_transactional": lambda columns: flags_of(columns, TRANSACTIONAL_BIT),
    "is_control": lambda columns: flags_of(columns, CONTROL_BIT),
    "crc": lambda columns: columns.crc.astype(np.int64),
}
