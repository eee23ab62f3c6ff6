"""Columns as Spark has them."""

from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from replication.copies.audit.tables import TIMESTAMP, Columns

_SPARK_TYPES: Final[dict[pa.DataType, type[DataType]]] = {
    pa.int8(): ByteType,
    pa.int16(): ShortType,
    pa.int32(): IntegerType,
    pa.int64(): LongType,
    pa.string(): StringType,
    pa.binary(): BinaryType,
    pa.bool_(): BooleanType,
    TIMESTAMP: TimestampType,
}


def spark_schema(columns: Columns) -> StructType:
    """Give a table's columns as Spark has them."""
    return StructType([StructField(name, _spark_type(kind)) for name, kind in columns.items()])


def _spark_type(kind: pa.DataType) -> DataType:
    if pa.types.is_list(kind):
        return ArrayType(_spark_type(kind.value_type))
    if pa.types.is_struct(kind):
        return spark_schema({field.name: field.type for field in kind})
    return _SPARK_TYPES[kind]()
