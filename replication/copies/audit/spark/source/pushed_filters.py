"""Spark's filters as conditions: those that spare reading."""

from collections.abc import Iterable, Iterator
from typing import Final

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from replication.copies.audit.log_rows.conditions.column_condition import (
    CONDITIONED,
    TEXTS,
    among,
    compared,
    starting_with,
)
from replication.copies.audit.log_rows.conditions.condition import Condition

_SIGNS: Final[dict[type[Filter], str]] = {
    EqualTo: "=",
    EqualNullSafe: "=",
    LessThan: "<",
    LessThanOrEqual: "<=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
}


def pushed(filters: Iterable[Filter]) -> Iterator[tuple[Filter, Condition]]:
    """Pick the filters that spare reading, with what each means; a column of a row that is corrupt is null."""
    for each in filters:
        try:
            condition = _condition(each)
        except TypeError:
            continue
        if condition is not None:
            yield each, condition


def _condition(each: Filter) -> Condition | None:
    match each:
        case In(attribute=(column,), value=values) if column in CONDITIONED:
            return among(column, tuple(value for value in values if value is not None))
        case StringStartsWith(attribute=(column,), value=prefix) if column in TEXTS:
            return starting_with(column, prefix)
        case EqualTo() | EqualNullSafe() | LessThan() | LessThanOrEqual() | GreaterThan() | GreaterThanOrEqual():
            column = each.attribute[0]
            is_ours = len(each.attribute) == 1 and column in CONDITIONED
            return compared(column, _SIGNS[type(each)], each.value) if is_ours else None
    return None
