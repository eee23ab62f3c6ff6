"""Conditions on the columns that spare reading, from constants as users and Spark write them."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from replication.copies.audit.log_rows.conditions.condition import NEVER, AllOf, AnyOf, Compare, Condition, Matches
from replication.copies.audit.log_rows.conditions.key_condition import KEY, KeyCompares, KeyIn, KeyIsNull, KeyLike
from replication.copies.audit.tables import MOST_MILLISECONDS

TEXTS: Final = ("topic", "replica")
NUMBERS: Final = ("partition", "offset", "leader_epoch", "producer_id")
TIMESTAMP: Final = "timestamp"
TIMESTAMP_MS: Final = "timestamp_ms"
"""The same as it is stored."""
CONDITIONED: Final = (*TEXTS, *NUMBERS, TIMESTAMP, TIMESTAMP_MS, KEY)
NULLABLE: Final = (TIMESTAMP, KEY)
SIGNS: Final = ("=", "!=", "<", "<=", ">", ">=")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECONDS: Final = 1_000
"""Of one millisecond, the unit of Kafka's timestamps."""
Constant = str | int | datetime | bytes
_NOT_BELOW: Final = Compare(TIMESTAMP, ">=", -MOST_MILLISECONDS)
_NOT_ABOVE: Final = Compare(TIMESTAMP, "<=", MOST_MILLISECONDS)
_BELOW: Final = Compare(TIMESTAMP, "<", -MOST_MILLISECONDS)
_ABOVE: Final = Compare(TIMESTAMP, ">", MOST_MILLISECONDS)
_REPRESENTABLE: Final = {
    "=": (),
    "!=": (_NOT_BELOW, _NOT_ABOVE),
    "<": (_NOT_BELOW,),
    "<=": (_NOT_BELOW,),
    ">": (_NOT_ABOVE,),
    ">=": (_NOT_ABOVE,),
}
"""What a comparison of a timestamp adds, by its sign, so that none holds of NULL."""


def compared(column: str, sign: str, value: Constant) -> Condition:
    """Compare a column with a constant of its kind. Raises TypeError for one of another kind."""
    if column == TIMESTAMP and isinstance(value, datetime):
        return compared_time(sign, microseconds_of(value))
    if column == KEY and isinstance(value, bytes):
        return KeyCompares(sign, value)
    if column == TIMESTAMP_MS and type(value) is int:
        return Compare(TIMESTAMP, sign, value)
    kind = str if column in TEXTS else int if column in NUMBERS else None
    if kind is None or not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{column} is not compared with {value!r}")
    return Compare(column, sign, value)


def among(column: str, values: tuple[Constant, ...], *, is_negated: bool = False) -> Condition:
    """Return that a column has one of the values, or none of them. Raises TypeError as `compared` does."""
    keys = tuple(value for value in values if isinstance(value, bytes))
    if column == KEY and len(keys) == len(values):
        return KeyIn(keys, is_negated)
    if is_negated:
        return AllOf(tuple(compared(column, "!=", value) for value in values))
    return AnyOf(tuple(compared(column, "=", value) for value in values))


def like(column: str, pattern: str, *, is_negated: bool = False) -> Condition:
    """Return that a text is like SQL's pattern, or unlike it.

    `%` stands for anything, `_` for one character; behind a backslash they stand for themselves, as it does itself.
    """
    if column == KEY:
        return KeyLike(pattern, is_negated)
    tokens = re.findall(r"\\.|.", pattern, re.DOTALL)
    return Matches(column, "".join(_LIKE.get(each, each[-1]) for each in tokens), is_negated)


def is_null(column: str, *, is_negated: bool = False) -> Condition:
    """Return that a column is NULL, or not. Raises TypeError for one that never is."""
    if column == KEY:
        return KeyIsNull(is_negated)
    if column != TIMESTAMP:
        raise TypeError(f"{column} is not compared with NULL")
    return AllOf((_NOT_BELOW, _NOT_ABOVE)) if is_negated else AnyOf((_BELOW, _ABOVE))


def starting_with(column: str, prefix: str) -> Condition:
    """Return that a text begins with another one."""
    return Matches(column, re.sub(r"([*?[])", r"[\1]", prefix) + "*")


_LIKE: Final = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}


def microseconds_of(value: datetime) -> int:
    """Return the microseconds since 1970 UTC of a time, which is UTC if it names no zone."""
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def compared_time(sign: str, microseconds: int) -> Condition:
    """Compare timestamps with a time that may lie between two milliseconds.

    One that a TIMESTAMP cannot be is NULL in a row, of which in SQL no comparison is true.
    """
    milliseconds, rest = divmod(microseconds, MICROSECONDS)
    if not rest:
        return AllOf((Compare(TIMESTAMP, sign, milliseconds), *_REPRESENTABLE[sign]))
    if sign in {"=", "!="}:
        return NEVER if sign == "=" else AllOf(_REPRESENTABLE[sign])
    return AllOf((Compare(TIMESTAMP, "<=" if sign in {"<", "<="} else ">", milliseconds), *_REPRESENTABLE[sign]))
