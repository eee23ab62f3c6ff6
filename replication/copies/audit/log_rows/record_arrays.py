"""Keys and values of records as Arrow arrays: kernels copy them, which not every reader of rows needs."""

import pyarrow as pa

from logstore.batch.columns import RecordColumns
from logstore.kernels.gather import gather
from logstore.offline.columns.arrow_arrays import binaries


def keys_of(records: RecordColumns) -> pa.Array:
    """Copy the keys, null where there is none."""
    return binaries(gather(records.data, records.key_start, records.key_length), records.key_length >= 0)


def values_of(records: RecordColumns) -> pa.Array:
    """Copy the values, null where there is none."""
    return binaries(gather(records.data, records.value_start, records.value_length), records.value_length >= 0)
