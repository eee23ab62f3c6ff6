"""Lists of values, keys and times, as columns of records without headers."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from logstore.batch.batch_attributes import NO_TIMESTAMP
from logstore.batch.buffer import BUFFERS
from logstore.batch.columns import RecordColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray


def value_columns(
    values: Sequence[bytes | None], timestamps: "int | NDArray[np.int64]", keys: Sequence[bytes | None] | None
) -> RecordColumns:
    """Put lists into columns; their batches and offsets are 0. Raises TypeError, ValueError with what to pass."""
    value_data, value_start, value_length = _join(values, "values")
    count = len(value_length)
    nowhere = np.zeros(count, np.int64)
    key_data, key_start, key_length = b"", nowhere, np.full(count, -1, np.int32)
    if keys is not None:
        key_data, key_start, key_length = _join(keys, "keys")
        key_start += len(value_data)
        if len(key_length) != count:
            raise ValueError(f"{len(key_length):,} keys do not belong to {count:,} values: pass one for each, or None")
    return RecordColumns(
        data=np.frombuffer(value_data + key_data if key_data else value_data, np.uint8),
        batch=nowhere,
        offset=nowhere,
        timestamp=_times(timestamps, count),
        key_start=key_start,
        key_length=key_length,
        value_start=value_start,
        value_length=value_length,
        headers_start=nowhere,
        header_count=np.zeros(count, np.int32),
    )


def _times(timestamps: object, count: int) -> "NDArray[np.int64]":
    """Return one time for each value."""
    times = np.asarray(timestamps)
    if times.dtype.kind not in "iu" and (times.size or times.ndim != 1):
        raise TypeError(
            f"timestamps are {timestamps!r:.60}: pass milliseconds since 1970 UTC, an int or one for each value"
        )
    if times.shape not in {(), (1,), (count,)}:
        raise ValueError(f"{times.size:,} timestamps do not belong to {count:,} values: pass one for all, or one each")
    least, most = (int(times.min()), int(times.max())) if times.size else (0, 0)
    if not NO_TIMESTAMP <= least <= most < 2**63:
        what = f"the timestamps are from {least:,} to {most:,}"
        raise ValueError(f"{what}: pass milliseconds since 1970 UTC, 0 to 2**63 - 1, or -1 for none")
    return np.broadcast_to(times.astype(np.int64, copy=False), count)


def _join(contents: Sequence[bytes | None], name: str) -> "tuple[bytes, NDArray[np.int64], NDArray[np.int32]]":
    """Join the contents, and give where each of them starts and its length, -1 for none."""
    present = cast("Sequence[bytes]", contents)
    try:
        data = b"".join(present)
        lengths = np.fromiter(map(len, present), np.int32, len(present))
    except TypeError:  # not all of them are present
        _ensure_contents(contents, name)
        data = b"".join(each for each in contents if each is not None)
        lengths = np.fromiter((-1 if each is None else len(each) for each in contents), np.int32, len(contents))
    sizes = np.maximum(lengths, 0)
    return data, np.cumsum(sizes, dtype=np.int64) - sizes, lengths


def _ensure_contents(contents: object, name: str) -> None:
    if not isinstance(contents, Collection) or isinstance(contents, (str, *BUFFERS)):
        raise TypeError(f"{name} are of type {type(contents).__name__}: pass a list or tuple of bytes")
    for number, each in enumerate(contents):
        if not (each is None or isinstance(each, BUFFERS)):
            what = f"number {number} of the {name} is of type {type(each).__name__}"
            raise TypeError(f"{what}: pass bytes or None; encode text, by 'text'.encode()")
