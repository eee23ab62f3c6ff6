"""The rows of a table that was filled from topics, as they are held against logs."""

from collections.abc import Mapping, Sequence
from fnmatch import translate
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import DataType, DecimalType, IntegralType, StringType

from epoch.history import MAX_OFFSET
from replication.base.chosen_topics import is_pattern
from replication.base.errors import NotAllowedError

TOPIC, PARTITION, OFFSET, LEADER_EPOCH = "topic", "partition", "offset", "leader_epoch"
COLUMNS: Final = (TOPIC, PARTITION, OFFSET, LEADER_EPOCH)
"""What a table's columns are called, unless the caller has other names."""
_KINDS: Final = {TOPIC: "string", PARTITION: "int", OFFSET: "bigint", LEADER_EPOCH: "int"}


def sink_rows(table: DataFrame, columns: Mapping[str, str], topics: Sequence[str]) -> DataFrame:
    """Return topic, partition, offset and leader epoch of the rows of these topics, and of rows that have no topic.

    A row that lacks its topic or partition has neither, and an offset that cannot be one is null. The leader epoch is
    null where the table has no such column, and so may the topic be where one is named. Raises NotAllowedError.
    """
    for name in columns:
        if name not in COLUMNS:
            raise NotAllowedError("a column to rename", name, ", ".join(COLUMNS))
    topic = _topic(table, columns, topics)
    partition = _column(table, columns, PARTITION)
    offset = _column(table, columns, OFFSET)
    is_whole = topic.isNotNull() & partition.isNotNull()
    has_epoch = LEADER_EPOCH in columns or LEADER_EPOCH in table.columns
    epoch = _column(table, columns, LEADER_EPOCH) if has_epoch else f.lit(None).cast(_KINDS[LEADER_EPOCH])
    rows = table.select(
        f.when(is_whole, topic).alias(TOPIC),
        f.when(is_whole, partition).alias(PARTITION),
        f.when(is_whole & (offset >= 0) & (offset < MAX_OFFSET), offset).alias(OFFSET),
        f.when(is_whole & (epoch >= 0), epoch).alias(LEADER_EPOCH),
    )
    return rows.where(f.col(TOPIC).isNull() | _is_one_of(topics)) if topics else rows


def _topic(table: DataFrame, columns: Mapping[str, str], topics: Sequence[str]) -> Column:
    """Return the column of topics, or the one topic that is named for a table of its own."""
    if TOPIC in columns or TOPIC in table.columns or len(topics) != 1 or is_pattern(topics[0]):
        return _column(table, columns, TOPIC)
    return f.lit(topics[0])


def _column(table: DataFrame, columns: Mapping[str, str], name: str) -> Column:
    """Return a column in our type. Raises NotAllowedError where there is none, or it is of another kind."""
    called = columns.get(name, name)
    chosen = f.col(called) if "." in called and called not in table.columns else f.col(f"`{called}`")
    if "." not in called and called not in table.columns:
        has = ", ".join(table.columns)
        raise NotAllowedError(f"the column of the {name.replace('_', ' ')}", called, f"a column of the table: {has}")
    kind = table.select(chosen).schema[0].dataType
    if not _fits(kind, is_text=name == TOPIC):
        expected = "text" if name == TOPIC else "whole numbers"
        raise NotAllowedError(
            f"the column of the {name.replace('_', ' ')}", f"{called} {kind.simpleString()}", expected
        )
    return chosen.cast(_KINDS[name])


def _fits(kind: DataType, *, is_text: bool) -> bool:
    """Return whether a type is text, or whole numbers: JDBC has them as decimals too."""
    if is_text:
        return isinstance(kind, StringType)
    return isinstance(kind, IntegralType) or (isinstance(kind, DecimalType) and kind.scale == 0)


def _is_one_of(topics: Sequence[str]) -> Column:
    found = f.lit(False)
    for each in topics:
        found |= f.col(TOPIC).rlike(f"^{translate(each)}") if is_pattern(each) else f.col(TOPIC) == each
    return found
