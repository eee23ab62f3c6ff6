"""Random conditions in SQL, each with what pandas makes of it: true, false, or null as SQL has it."""

import operator
import random
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import pandas as pd

Mask = pd.Series
"""Of type `boolean`, in which pandas joins nulls as SQL does."""
SIGNS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
KINDS: Final = {
    "numbers": "partition offset timestampType leader_epoch producer_id producer_epoch sequence base_offset segment "
    "position timestamp_ms size last_offset magic base_timestamp max_timestamp base_sequence record_count crc "
    "counted most least sum width",
    "texts": "topic replica file codec name",
    "bytes": "key value",
    "flags": "is_transactional is_control is_aborted crc_valid corrupt is_chosen",
    "times": "timestamp",
    "lists": "headers",
}
"""Columns by what they hold, those that queries make too."""
_KIND_OF: Final = {name: kind for kind, names in KINDS.items() for name in names.split()}
SPARED: Final = frozenset({"topic", "replica", "partition", "offset", "leader_epoch", "producer_id", "timestamp"})
SPARED |= {"timestamp_ms", "key"}
"""What the option `where` may be about."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def kind_of(name: str) -> str:
    """Say what a column holds, on whichever side of a join."""
    return _KIND_OF[name.removeprefix("other_")]


class Condition(NamedTuple):
    sql: str
    holds: Callable[[pd.DataFrame], Mask]


def condition_on(table: pd.DataFrame, chance: random.Random, depth: int = 2) -> Condition:
    """Make a condition on any of the columns, with values that are there or nearly."""
    if depth and chance.random() < 0.5:
        one, other = (condition_on(table, chance, depth - 1) for _ in range(2))
        return chance.choice([_all_of, _any_of, _not_of])(one, other)
    return _simple(table, chance, chance.choice(list(table.columns)))


def spared_condition(table: pd.DataFrame, chance: random.Random, depth: int = 2) -> Condition:
    """Make a condition for the option `where`."""
    if depth and chance.random() < 0.5:
        one, other = (spared_condition(table, chance, depth - 1) for _ in range(2))
        return chance.choice([_all_of, _any_of, _not_of])(one, other)
    name = chance.choice(sorted(SPARED))
    makers = [_plain, _plain, _plain, _null, _known] if name in {"key", "timestamp"} else [_plain]
    return chance.choice(makers)(table, chance, name)


def _all_of(one: Condition, other: Condition) -> Condition:
    return Condition(f"({one.sql} AND {other.sql})", lambda table: one.holds(table) & other.holds(table))


def _any_of(one: Condition, other: Condition) -> Condition:
    return Condition(f"({one.sql} OR {other.sql})", lambda table: one.holds(table) | other.holds(table))


def _not_of(one: Condition, other: Condition) -> Condition:
    return Condition(f"(NOT {one.sql} AND {other.sql})", lambda table: ~one.holds(table) & other.holds(table))


def _simple(table: pd.DataFrame, chance: random.Random, name: str) -> Condition:
    """Make a condition on one column that needs no conjunction."""
    kinds = [_null, _known, _plain, _plain, _plain, _safe, _special]
    return chance.choice(kinds)(table, chance, name)


def _null(_table: pd.DataFrame, _chance: random.Random, name: str) -> Condition:
    return Condition(f"{name} IS NULL", lambda table: _flags(table[name].isna()))


def _known(_table: pd.DataFrame, _chance: random.Random, name: str) -> Condition:
    return Condition(f"{name} IS NOT NULL", lambda table: _flags(table[name].notna()))


def _plain(table: pd.DataFrame, chance: random.Random, name: str) -> Condition:
    """Compare with one constant or two, or several."""
    kind = kind_of(name)
    if kind == "flags":
        return Condition(name, lambda table: table[name].astype("boolean"))
    if kind == "lists":
        return _known(table, chance, name)
    one, other = (_value(table, chance, name) for _ in range(2))
    match chance.choice(["sign", "sign", "sign", "in", "between", "like"]):
        case "in":
            return Condition(
                f"{name} IN ({literal(name, one)}, {literal(name, other)})",
                lambda table: _mapped(table[name], lambda value: value in {one, other}),
            )
        case "between":
            low, high = sorted((one, other))
            return Condition(
                f"{name} BETWEEN {literal(name, low)} AND {literal(name, high)}",
                lambda table: _mapped(table[name], lambda value: low <= value <= high),
            )
        case "like" if kind == "texts":
            return _like(one, chance, name)
        case _:
            sign = chance.choice(list(SIGNS))
            return Condition(
                f"{name} {sign} {literal(name, one)}",
                lambda table: _mapped(table[name], lambda value: SIGNS[sign](value, one)),
            )


def _like(text: str, chance: random.Random, name: str) -> Condition:
    at = chance.randint(0, len(text))
    pattern = chance.choice(
        [text[:at] + "%", "%" + text[at:], text[:at] + "_" + text[at + 1 :], f"%{text[at : at + 2]}%"]
    )
    expression = re.compile("".join({"%": ".*", "_": "."}.get(each, re.escape(each)) for each in pattern), re.DOTALL)
    # A backslash would be an escape; none of these names has one, but an underscore stands for any character.
    return Condition(
        f"{name} LIKE '{pattern}'", lambda table: _mapped(table[name], lambda value: bool(expression.fullmatch(value)))
    )


def _safe(table: pd.DataFrame, chance: random.Random, name: str) -> Condition:
    """Compare so that null is a value too."""
    if kind_of(name) in {"flags", "lists"}:
        return _null(table, chance, name)
    value = _value(table, chance, name)
    return Condition(
        f"{name} <=> {literal(name, value)}", lambda table: _flags([_is(each, value) for each in table[name]])
    )


def _special(table: pd.DataFrame, chance: random.Random, name: str) -> Condition:
    """Use a function of SQL's that the column's type has."""
    kind = kind_of(name)
    if kind == "numbers":
        return Condition(f"pmod({name}, 3) = 1", lambda table: _mapped(table[name], lambda value: value % 3 == 1))
    if kind == "texts":
        part = str(_value(table, chance, name))[:3]
        function, test = chance.choice(
            [("startswith", str.startswith), ("endswith", str.endswith), ("contains", str.__contains__)]
        )
        return Condition(
            f"{function}({name}, '{part}')", lambda table: _mapped(table[name], lambda value: test(value, part))
        )
    if kind == "bytes":
        number = chance.randint(0, 40)
        return Condition(
            f"length({name}) > {number}", lambda table: _mapped(table[name], lambda value: len(value) > number)
        )
    if kind == "lists":
        return Condition(
            f"exists({name}, header -> header.value IS NULL)",
            lambda table: _mapped(table[name], lambda headers: any(pd.isna(value) for _, value in headers)),
        )
    return _plain(table, chance, name)


def _value(table: pd.DataFrame, chance: random.Random, name: str) -> Any:
    """Take a value of a column, or one beside it."""
    values = [value for value in table[name] if not is_null(value)]
    kind = kind_of(name)
    if kind == "bytes":
        return chance.choice([*values, b"k1", b""])
    if kind == "texts":
        return chance.choice([*values, "orders", "broker-2", "nothing"])
    value = int(chance.choice([*values, 0]))
    if kind == "numbers":
        return value + chance.choice([0, 0, -1, 1, 7])
    return value + chance.choice([0, 0, -1_000, 1_000, 1])


def literal(name: str, value: Any) -> str:
    """Write a value of a column in SQL."""
    match kind_of(name):
        case "times":
            return f"TIMESTAMP'{time_of(value).isoformat(sep=' ')}'"
        case "bytes":
            return f"X'{value.hex()}'"
        case "texts":
            return f"'{value}'"
        case _:
            return str(value)


def time_of(microseconds: int) -> datetime:
    """Return a time since 1970 UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)


def _mapped(values: pd.Series, test: Callable[[Any], bool]) -> Mask:
    """Apply a test to all values but nulls, which stay null."""
    return _flags([pd.NA if is_null(value) else bool(test(value)) for value in values])


def _flags(values: Sequence[Any] | pd.Series) -> Mask:
    return pd.Series(list(values), dtype="boolean")


def _is(value: Any, other: Any) -> bool:
    return not is_null(value) and bool(value == other)


def is_null(value: Any) -> bool:
    """Return whether a value is SQL's null."""
    return value is None or value is pd.NA
