"""Arrow's arrays from gathered bytes, without a look at single values."""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from logstore.kernels.gather import Gathered

TEXTS_AT_ONCE: Final = 65_536
"""Of those that are handled one by one."""


def binaries(gathered: Gathered, is_there: NDArray[np.bool_]) -> pa.Array:
    """Give values that were gathered, null where there is none."""
    nulls = len(is_there) - int(np.count_nonzero(is_there))
    validity = bits(is_there) if nulls else None
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
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits(values)])


def bits(values: NDArray[np.bool_]) -> pa.Buffer:
    """Pack truth values as Arrow has them."""
    return pa.py_buffer(np.packbits(values, bitorder="little"))
