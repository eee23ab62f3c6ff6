"""Records as rows of Arrow, with what their producers put into them masked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from logstore.text.record_mask import RecordMask


def masked_rows(rows: pa.RecordBatch, mask: RecordMask) -> pa.RecordBatch:
    """Return the rows with their columns `key`, `value` and `headers`, as far as there are any, masked."""
    arrays = [
        pa.array([_MASKING[field.name](mask, each) for each in array.to_pylist()], field.type)
        if field.name in _MASKING
        else array
        for field, array in zip(rows.schema, rows.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)


def _headers(mask: RecordMask, headers: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]] | None:
    if headers is None:
        return None
    return [{"key": mask.header(each["key"]), "value": mask.value(each["value"])} for each in headers]


_MASKING: Final[Mapping[str, Callable[[RecordMask, Any], Any]]] = {
    "key": RecordMask.key,
    "value": RecordMask.value,
    "headers": _headers,
}
