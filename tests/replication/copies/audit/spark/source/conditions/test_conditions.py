"""Conditions hold for the rows for which SQL says so; of what they rule out nothing could have held."""

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from replication.copies.audit.log_rows.conditions.column_condition import CONDITIONED, NUMBERS, TEXTS, compared
from replication.copies.audit.log_rows.conditions.condition import ALWAYS, NEVER, AllOf, Condition, Span
from replication.copies.audit.log_rows.conditions.where import WhereError, parse_where
from replication.copies.audit.spark.source.pushed_filters import pushed
from replication.copies.audit.tables import MOST_MILLISECONDS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = dict[str, Any]

names = st.sampled_from(["orders", "orders_x", "order", "pay*", "pay[1]", "", "O'Neil"])
small = st.integers(-2, 9)
keys = st.sampled_from(
    [b"", b"orders", b"order", b"orders_x", "Größe".encode(), b"\xff\x00\xfe", b"\xc3", b"pay[1]\n%"]
)
PLAIN = [name for name in CONDITIONED if name not in {*TEXTS, "key", "timestamp_ms"}]
rows = st.lists(
    st.fixed_dictionaries({**dict.fromkeys(TEXTS, names), **dict.fromkeys(PLAIN, small), "key": st.none() | keys}).map(
        lambda row: {**row, "timestamp_ms": row["timestamp"]}
    ),
    max_size=12,
)


def literal(value: object) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


negations = st.sampled_from(["", "", "NOT "])


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    column = draw(st.sampled_from([*NUMBERS, *TEXTS, "timestamp_ms", "key", "key"]))
    values = {"key": keys}.get(column, names if column in TEXTS else small)
    forms = ["{c} {s} {a}", "{c} {n}IN ({a}, {b})", "{c} {n}BETWEEN {a} AND {b}"]
    if column == "key":
        forms.append("{c} IS {n}NULL")
    if column in TEXTS:
        forms.append("{c} {n}LIKE {a} ")
    sign = draw(st.sampled_from(["=", "!=", "<>", "<", "<=", ">", ">="]))
    a, b = literal(draw(values)), literal(draw(values))
    return draw(st.sampled_from(forms)).format(c=column, s=sign, a=a, b=b, n=draw(negations))


wheres = st.recursive(
    comparisons(),
    lambda inner: st.tuples(negations, inner, st.sampled_from(["AND", "or"]), negations, inner).map(
        lambda each: f"{each[0]}({' '.join(each[1:])})"
    ),
    max_leaves=6,
)


def by_sqlite(where: str, rows: list[Row]) -> list[bool]:
    with sqlite3.connect(":memory:") as database:
        database.execute("PRAGMA case_sensitive_like = ON")
        columns = ", ".join(f'"{name}"' for name in CONDITIONED)
        database.execute(f"CREATE TABLE rows ({columns})")
        database.executemany(
            f"INSERT INTO rows VALUES ({', '.join('?' * len(CONDITIONED))})",  # noqa: S608  ours
            [[row[name] for name in CONDITIONED] for row in rows],
        )
        found = [bool(row[0]) for row in database.execute(f"SELECT {where} FROM rows ORDER BY rowid")]  # noqa: S608  ours
    database.close()
    return found


BY_RECORD = ("offset", "leader_epoch", "producer_id")


def holds(condition: Condition, row: Row) -> bool:
    return bool(np.all(condition.may_hold({name: known(name, value) for name, value in row.items()})))


def known(name: str, value: object) -> Span:
    return Span.of(pa.array([value], pa.binary()) if name == "key" else value)


@given(where=wheres, rows=rows)
def test_a_row_is_wanted_where_sql_says_so(where: str, rows: list[Row]) -> None:
    condition = parse_where(where)

    assert [holds(condition, row) for row in rows] == by_sqlite(where, rows)


@given(where=wheres, rows=rows)
def test_rows_as_columns_are_judged_like_single_ones(where: str, rows: list[Row]) -> None:
    condition = parse_where(where)
    for row in rows:
        rest = condition.given({name: Span.of(row[name]) for name in (*TEXTS, "partition")})
        alike = [{**row, **{name: each[name] for name in (*BY_RECORD, "timestamp", "key")}} for each in rows]
        columns = {
            name: Span.of(np.array([each[name] for each in alike], np.int64)) for name in (*BY_RECORD, "timestamp")
        }
        columns["key"] = Span.of(pa.array([each["key"] for each in alike], pa.binary()))
        mask = np.broadcast_to(rest.may_hold(columns), len(alike))
        assert mask.tolist() == [holds(condition, each) for each in alike]


@given(where=wheres, rows=rows)
def test_what_is_ruled_out_by_spans_or_limits_holds_no_wanted_row(where: str, rows: list[Row]) -> None:
    condition = parse_where(where)
    wanted = [row for row in rows if holds(condition, row)]

    if rows:
        spans = {
            name: Span(min(row[name] for row in rows), max(row[name] for row in rows))
            for name in (*BY_RECORD, "timestamp")
        }
        assert bool(np.all(condition.may_hold(spans))) or not wanted
        assert len(wanted) == len(rows) or not bool(np.all(condition.must_hold(spans)))
    for name in (*NUMBERS, "timestamp"):
        least, greatest = condition.limits(name)
        assert all(least is None or row[name] >= least for row in wanted)
        assert all(greatest is None or row[name] <= greatest for row in wanted)


@given(
    sign=st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    milliseconds=st.integers(-3, 3),
    microseconds=st.integers(-3_500, 3_500),
)
def test_a_time_between_two_milliseconds_is_neither(sign: str, milliseconds: int, microseconds: int) -> None:
    condition = compared("timestamp", sign, EPOCH + timedelta(microseconds=microseconds))

    found = holds(condition, {"timestamp": milliseconds})

    assert found == eval(f"{milliseconds * 1_000} {'==' if sign == '=' else sign} {microseconds}")  # noqa: S307  numbers


PATTERNS = st.lists(st.sampled_from(["%", "_", "\\%", "\\_", "\\\\", "o", "é", "\n", ".", "*", "["]), max_size=6).map(
    "".join
)
TEXTS_LIKE_THEM = st.text("oé%_\\\n.*[", max_size=6)


def is_like(text: str, pattern: str) -> bool:
    """Compare character by character, as the standard defines LIKE."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(is_like(text[skipped:], pattern[1:]) for skipped in range(len(text) + 1))
    is_escaped = pattern[0] == "\\"
    wanted, rest = (pattern[1], pattern[2:]) if is_escaped else (pattern[0], pattern[1:])
    fits = bool(text) and (text[0] == wanted or (wanted == "_" and not is_escaped))
    return fits and is_like(text[1:], rest)


@given(text=TEXTS_LIKE_THEM, pattern=PATTERNS, negation=negations)
def test_keys_and_names_are_like_patterns_character_by_character(text: str, pattern: str, negation: str) -> None:
    wanted = is_like(text, pattern) is not bool(negation)

    for column, value in (("topic", text), ("key", text.encode())):
        condition = parse_where(f"{column} {negation}LIKE '{pattern}'")
        assert holds(condition, {column: value}) is wanted


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("key = 'Größe'", ["Größe".encode()]),
        ("key IN ('Größe', X'ff00FE')", ["Größe".encode(), b"\xff\x00\xfe"]),
        ("key LIKE '%\xf6_e'", ["Größe".encode()]),
        ("key >= X'ff'", [b"\xff\x00\xfe"]),
        ("key = ''", [b""]),
        ("NOT key LIKE '%'", []),
        ("NOT (key = 'a' OR key IS NULL)", [b"", "Größe".encode(), b"\xff\x00\xfe"]),
    ],
)
def test_keys_are_bytes_and_text_is_theirs_in_utf_8(where: str, wanted: list[bytes]) -> None:
    found = [b"", b"a", "Größe".encode(), b"\xff\x00\xfe", None]

    assert [key for key in found if holds(parse_where(where), {"key": key})] == wanted


@pytest.mark.parametrize(
    "where",
    ["key = 1", "key LIKE X'61'", "topic = X'61'", "key = X'6'", "key LIKE 'a\\b'", "key LIKE 'a\\'", "key = '\ud800'"],
)
def test_what_no_key_can_be_compared_with_is_refused(where: str) -> None:
    with pytest.raises(WhereError):
        parse_where(where)


def test_times_are_utc_unless_they_name_a_zone() -> None:
    plain = parse_where("timestamp >= '2026-11-21 07:55:55'")
    zoned = parse_where("timestamp >= '2026-11-21T09:55:55+02:00'")

    assert plain == zoned
    assert plain.limits("timestamp") == (1_795_247_755_000, MOST_MILLISECONDS)


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("timestamp IS NULL", {"before", "beyond"}),
        ("timestamp IS NOT NULL", {"now"}),
        ("NOT timestamp IS NULL", {"now"}),
        ("NOT timestamp < '2000-01-01'", {"now"}),
        ("NOT (timestamp >= '2000-01-01' OR timestamp IS NULL)", set()),
        ("NOT timestamp NOT BETWEEN '2000-01-01' AND '2100-01-01'", {"now"}),
        ("timestamp NOT IN ('2000-01-01')", {"now"}),
    ],
)
def test_of_a_time_that_is_null_nothing_is_true_but_that(where: str, wanted: set[str]) -> None:
    times = {"before": -MOST_MILLISECONDS - 1, "now": 1_795_247_755_000, "beyond": MOST_MILLISECONDS + 1}

    assert {name for name, time in times.items() if holds(parse_where(where), {"timestamp": time})} == wanted


@pytest.mark.parametrize("where", ["offset IS NULL", "topic IS NOT NULL", "timestamp IS", "NOT", "topic NOT = 'a'"])
def test_what_is_never_null_is_not_asked_for(where: str) -> None:
    with pytest.raises(WhereError):
        parse_where(where)


FILTERS: list[tuple[Filter, str]] = [
    (EqualTo(("offset",), 3), "offset = 3"),
    (LessThan(("offset",), 3), "offset < 3"),
    (LessThanOrEqual(("partition",), 3), "partition <= 3"),
    (GreaterThan(("leader_epoch",), 3), "leader_epoch > 3"),
    (GreaterThanOrEqual(("producer_id",), 3), "producer_id >= 3"),
    (In(("topic",), ("orders", None)), "topic IN ('orders')"),
    (StringStartsWith(("topic",), "pay["), "topic = 'pay[1]'"),
    (EqualTo(("timestamp_ms",), 3), "timestamp_ms = 3"),
    (EqualTo(("key",), b"orders"), "key = X'6f7264657273'"),
    (In(("key",), (b"orders", None, b"\xc3")), "key IN (X'6f7264657273', X'c3')"),
]


@pytest.mark.parametrize(("filter_", "where"), FILTERS)
@given(rows=rows)
def test_filters_of_spark_mean_the_same(filter_: Filter, where: str, rows: list[Row]) -> None:
    [(_, condition)] = pushed([filter_])

    assert [holds(condition, row) for row in rows] == by_sqlite(where, rows)


@pytest.mark.parametrize(
    "filter_",
    [
        Not(EqualTo(("offset",), 3)),
        IsNotNull(("offset",)),
        EqualTo(("value",), b"x"),
        EqualTo(("headers", "key"), "x"),
        EqualTo(("offset",), "x"),
        EqualTo(("offset",), None),
        EqualTo(("key",), "x"),
        In(("key",), (b"x", "y")),
        StringStartsWith(("key",), "x"),
    ],
)
def test_filters_that_spare_nothing_are_left_to_spark(filter_: Filter) -> None:
    assert list(pushed([filter_])) == []


def test_nothing_and_everything_are_told_apart() -> None:
    assert AllOf((NEVER, compared("offset", ">", 3))).given({}) == NEVER
    assert compared("topic", "=", "a").given({"topic": Span.of("a")}) == ALWAYS
    assert NEVER.limits("offset") == (None, None)


@pytest.mark.parametrize(
    ("where", "limits"),
    [
        ("offset > 3", (4, None)),
        ("offset < 3", (None, 2)),
        ("offset = 3", (3, 3)),
        ("offset != 3", (None, None)),
        ("offset >= 3 AND offset >= 5 AND offset < 12 AND offset <= 8", (5, 8)),
        ("offset = 3 OR offset BETWEEN 7 AND 9", (3, 9)),
        ("offset = 3 OR leader_epoch = 1", (None, None)),
        ("topic LIKE 'a%' AND partition = 5", (None, None)),
    ],
)
def test_limits_are_as_narrow_as_can_be(where: str, limits: tuple[int | None, int | None]) -> None:
    assert parse_where(where).limits("offset") == limits


def test_what_is_not_known_may_be_anything() -> None:
    orders = parse_where("topic LIKE 'orders%'")

    assert orders.may_hold({}) is True
    assert orders.given({"partition": Span.of(3)}) == orders
    other = parse_where("offset != 3")
    assert [bool(other.may_hold({"offset": Span(*each)})) for each in ((3, 3), (3, 4), (2, 3), (4, 5))] == [
        False,
        True,
        True,
        True,
    ]
