"""Random queries of `kafka-log`, each beside the same of pandas over what `epochlog dump` prints of the same logs."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tests.replication.copies.audit.spark.queries.dumped_tables import HELPERS, DumpedLogs, column
from tests.replication.copies.audit.spark.queries.random_conditions import (
    Condition,
    condition_on,
    is_null,
    kind_of,
    spared_condition,
    time_of,
)
from tests.replication.copies.audit.spark.queries.random_roots import write_roots
from tests.replication.copies.audit.spark.source.planned import WHATEVER_IS_THERE

Row = tuple[Any, ...]
MOST_ROWS: Final = 2_000
"""Joins of what was united multiply rows."""
LOADS: Final = 3
YEAR_9999: Final = 250_000_000_000_000
"""Milliseconds: from then on Python has no dates."""
KEYS: Final = ("topic", "partition", "base_offset")
TIMES: Final = pa.timestamp("us", tz="UTC")


class Query(NamedTuple):
    """A query, and what it is to give."""

    spark: DataFrame
    pandas: pd.DataFrame
    how: str


@dataclass
class RandomQueries:
    """Some random logs, loaded with random options, and queries that build on one another."""

    spark: SparkSession
    scratch: Path
    random: random.Random
    pushes: bool
    """Whether Spark pushes filters in this session."""
    queries: list[Query] = field(default_factory=list)
    cached: list[DataFrame] = field(default_factory=list)
    rows: int = 0
    """How many were compared."""

    def run(self, count: int) -> None:
        """Ask so many queries, each of which must give what pandas gives."""
        self.roots = write_roots(self.scratch, self.random)
        self.logs = DumpedLogs(self.roots)
        for number in range(count):
            if number < LOADS:
                query = self._load()
            elif self.pushes and self.random.random() < 0.3:
                query = self._pushed()
            else:
                query = self.random.choice(self._steps)(self, self.random.choice(self.queries))
            self._check(query)
        for frame in self.cached:
            frame.unpersist()

    def _check(self, query: Query) -> None:
        found, expected = rows_of_arrow(query.spark.toArrow()), rows_of(query.pandas)
        assert found == expected, f"{query.how}\nonly Spark: {found - expected}\nonly pandas: {expected - found}"
        self.rows += found.total()

    def _add(self, frame: DataFrame, table: pd.DataFrame, how: str) -> Query:
        query = Query(frame, table.reset_index(drop=True), how)
        if len(table) <= MOST_ROWS:
            self.queries.append(query)
        return query

    # Loading ---------------------------------------------------------------------------------------------------------

    def _load(self) -> Query:
        rows = "batches" if self.random.random() < 0.2 else "records"
        options, chosen = self._options(rows)
        frame, table = self._loaded(rows, options, chosen)
        return self._add(frame, table, f"load {rows} {options}")

    def _pushed(self) -> Query:
        """Load for one query alone, whose filters the source takes over."""
        options, chosen = self._options("records")
        frame, table = self._loaded("records", {**options, "pushdown": "true"}, chosen)
        wanted = condition_on(table, self.random)
        return Query(frame.where(wanted.sql), where(table, wanted), f"load {options} pushing {wanted.sql}")

    def _loaded(
        self, rows: str, options: dict[str, str], chosen: Callable[[pd.DataFrame], pd.DataFrame]
    ) -> tuple[DataFrame, pd.DataFrame]:
        whole = self.logs.batches if rows == "batches" else self.logs.records
        table = chosen(whole).reset_index(drop=True)
        reader = self.spark.read.format("kafka-log").option("rows", rows).options(**options)
        frame = reader.load([str(root) for root in self.roots])
        if "corrupt" in frame.columns:
            frame = frame.withColumn("corrupt", f.col("corrupt").isNotNull())
            # Of what is corrupt little tells whether it is asked for.
            if {"where", "startingOffsets", "startingTimestamp"} & options.keys():
                frame, table = frame.where("NOT corrupt"), where(table, NOT_CORRUPT)
        names = [name for name in frame.columns if name in table.columns]
        return frame.select(names), table[names]

    def _options(self, rows: str) -> tuple[dict[str, str], Callable[[pd.DataFrame], pd.DataFrame]]:
        """Choose options, and what they choose of the whole table."""
        table = self.logs.batches if rows == "batches" else self.logs.records
        options = {"taskBytes": str(self.random.choice([300, 5_000, 1 << 30])), **WHATEVER_IS_THERE}
        steps: list[Callable[[pd.DataFrame], pd.DataFrame]] = []
        makers = [self._places, self._offsets, self._mode, self._isolation]
        makers += [self._times, self._where] if rows == "records" else [self._times_in_batches]
        for maker in self.random.sample(makers, self.random.randint(0, 3)):
            more, step = maker(table)
            options |= more
            steps.append(step)
        if self.random.random() < 0.3:
            names = [name for name in table.columns if name not in {*HELPERS, "corrupt"}]
            wanted = self.random.sample(names, self.random.randint(1, len(names)))
            # Without it rows about what is corrupt could not be told from others.
            options["columns"] = ",".join([*wanted, "corrupt"])
        return options, lambda table: reduce(lambda left, step: step(left), steps, table)

    def _places(self, table: pd.DataFrame) -> "Chosen":
        topics = sorted(set(table["topic"]))
        match self.random.choice(["topics", "pattern", "partitions", "replicas"]):
            case "topics":
                names = self.random.sample(topics, min(2, len(topics)))
                return {"topics": ", ".join(names)}, lambda table: table[table["topic"].isin(names)]
            case "pattern":
                start = self.random.choice(topics)[:3]
                return {"topics": f"{start}*"}, lambda table: table[table["topic"].str.startswith(start)]
            case "partitions":
                places = sorted(set(table["topic"] + "-" + table["partition"].astype(str)))
                wanted = self.random.sample(places, min(2, len(places)))
                return {"partitions": ",".join(wanted)}, lambda table: table[
                    (table["topic"] + "-" + table["partition"].astype(str)).isin(wanted)
                ]
            case _:
                name = self.random.choice(["broker-1", "broker-2"])
                return {"replicas": name}, lambda table: table[table["replica"] == name]

    def _offsets(self, table: pd.DataFrame) -> "Chosen":
        """Bound the offsets; of a batch, or what is corrupt, those that it may have."""
        bases = sorted({int(base) for base in table["base_offset"] if not is_null(base)})
        first = self.random.choice(bases) + self.random.randint(0, 3)
        after = first + self.random.choice([1, 5, 20, 10**12])
        topic = self.random.choice([None, *sorted(set(table["topic"]))])
        bounds = {"startingOffsets": first, "endingOffsets": after}
        partitions = sorted(map(str, set(table["partition"][table["topic"] == topic])))
        options = {
            name: str(offset) if topic is None else json.dumps({topic: dict.fromkeys(partitions, offset)})
            for name, offset in bounds.items()
        }
        return options, lambda table: _between(table, first, after, topic)

    def _times(self, table: pd.DataFrame) -> "Chosen":
        options, first, after = self._between_times(list(table["timestamp_ms"].dropna()))
        return options, lambda table: table[
            table["corrupt"].fillna(False) | _flags_of(table["timestamp_ms"].between(first, after - 1))
        ]

    def _times_in_batches(self, table: pd.DataFrame) -> "Chosen":
        """Bound the timestamps of records, of which a batch has one at least that is asked for."""
        options, first, after = self._between_times(
            [time for times in table["record_times"].dropna() for time in times]
        )

        def are_asked(table: pd.DataFrame) -> pd.Series:
            asked = [
                bool(corrupt) or (not is_null(times) and any(first <= time < after for time in (*times, greatest)))
                for corrupt, times, greatest in zip(
                    table["corrupt"].fillna(False), table["record_times"], table["max_timestamp"], strict=True
                )
            ]
            return pd.Series(asked, index=table.index, dtype="boolean")

        return options, lambda table: table[are_asked(table)]

    def _between_times(self, times: Sequence[int]) -> tuple[dict[str, str], int, int]:
        first = int(self.random.choice([time for time in times if time < YEAR_9999] or [0]))
        after = first + self.random.choice([1, 20, 10**12])
        as_text = self.random.random() < 0.5
        options = {
            name: time_of(value * 1_000).isoformat() if as_text else str(value)
            for name, value in (("startingTimestamp", first), ("endingTimestamp", after))
        }
        return options, first, after

    def _where(self, table: pd.DataFrame) -> "Chosen":
        wanted = spared_condition(table, self.random)
        return {"where": wanted.sql.replace("TIMESTAMP'", "'")}, lambda table: where(
            table.reset_index(drop=True), wanted
        )

    def _isolation(self, _table: pd.DataFrame) -> "Chosen":
        return {"isolation": "read_committed"}, lambda table: table[_flags_of(table["is_committed"])]

    def _mode(self, _table: pd.DataFrame) -> "Chosen":
        if self.random.random() < 0.3:
            return {"mode": "PERMISSIVE"}, lambda table: table
        return {"mode": "dropmalformed"}, lambda table: table[~table["corrupt"].fillna(False)]

    # Steps -----------------------------------------------------------------------------------------------------------

    def _filter(self, query: Query) -> Query:
        wanted = condition_on(query.pandas, self.random)
        return self._add(query.spark.where(wanted.sql), where(query.pandas, wanted), f"{query.how} where {wanted.sql}")

    def _view(self, query: Query) -> Query:
        """Ask by SQL, through a view."""
        wanted = condition_on(query.pandas, self.random)
        view = f"queries_{len(self.queries)}"
        query.spark.createOrReplaceTempView(view)
        frame = self.spark.sql(f"SELECT * FROM {view} WHERE {wanted.sql}")  # noqa: S608  ours
        return self._add(frame, where(query.pandas, wanted), f"{query.how} by a view where {wanted.sql}")

    def _project(self, query: Query) -> Query:
        names = self._some(query)
        return self._add(query.spark.select(names), query.pandas[names], f"{query.how} select {names}")

    def _compute(self, query: Query) -> Query:
        """Add a column that is made of others."""
        table = query.pandas
        wanted = condition_on(table, self.random)
        named = {"is_chosen": (f"coalesce({wanted.sql}, false)", wanted.holds(table).fillna(False))}
        for name in self._of_kind(query, "bytes"):
            sizes = column([-1 if is_null(each) else len(each) for each in table[name]])
            named["width"] = f"coalesce(length({name}), -1)", sizes
        for name in self._of_kind(query, "texts"):
            longer = column([None if is_null(each) else f"{each}/x" for each in table[name]])
            named["name"] = f"concat({name}, '/x')", longer
        name = self.random.choice([name for name in named if name not in table.columns] or ["is_chosen"])
        sql, values = named[name]
        return self._add(
            query.spark.withColumn(name, f.expr(sql)), table.assign(**{name: values}), f"{query.how} with {sql}"
        )

    def _distinct(self, query: Query) -> Query:
        names = self._some(query)[:3]
        rows = dict.fromkeys(_tuples(query.pandas[names]))
        return self._add(query.spark.select(names).distinct(), table_of(rows, names), f"{query.how} distinct {names}")

    def _unite(self, query: Query) -> Query:
        other = self.random.choice(self.queries)
        names = [name for name in query.pandas.columns if name in other.pandas.columns]
        if not names:
            return self._project(query)
        ours, theirs = query.pandas[names], other.pandas[names]
        left, right = query.spark.select(names), other.spark.select(names)
        mine, its = Counter(_tuples(ours)), Counter(_tuples(theirs))
        kind = self.random.choice(["union", "unionByName", "intersectAll", "exceptAll", "subtract"])
        match kind:
            case "intersectAll":
                frame, table = left.intersectAll(right), table_of((mine & its).elements(), names)
            case "exceptAll":
                frame, table = left.exceptAll(right), table_of((mine - its).elements(), names)
            case "subtract":
                frame, table = left.subtract(right), table_of([row for row in mine if row not in its], names)
            case "union":
                frame, table = left.union(right), table_of(_tuples(ours) + _tuples(theirs), names)
            case _:
                right = right.select(self.random.sample(names, len(names)))
                frame, table = left.unionByName(right), table_of(_tuples(ours) + _tuples(theirs), names)
        return self._add(frame, table, f"({query.how}) {kind} ({other.how}) on {names}")

    def _join(self, query: Query) -> Query:
        other = self.random.choice(self.queries)
        keys = [name for name in KEYS if name in query.pandas.columns and name in other.pandas.columns]
        free = [name for name in other.pandas.columns if not name.startswith("other_")]
        if not keys or any(name.startswith("other_") for name in query.pandas.columns):
            return self._filter(query)
        kind = self.random.choice(["inner", "left", "right", "full", "left_semi", "left_anti"])
        right = other.spark.select([f.col(name).alias(f"other_{name}") for name in free])
        table = other.pandas[free].rename(columns=lambda name: f"other_{name}")
        left = query.spark
        on = reduce(lambda one, more: one & more, [f.col(name) == f.col(f"other_{name}") for name in keys])
        return self._add(
            left.join(right, on, kind),
            joined(query.pandas, table, keys, kind),
            f"({query.how}) {kind} join ({other.how})",
        )

    def _group(self, query: Query) -> Query:
        keys = [name for name in query.pandas.columns if kind_of(name) in {"texts", "flags"}][:2]
        numbers = self._of_kind(query, "numbers")
        if not keys or not numbers:
            return self._filter(query)
        name = self.random.choice(numbers)
        found: dict[Row, list[Any]] = {}
        for key, value in zip(_tuples(query.pandas[keys]), query.pandas[name], strict=True):
            found.setdefault(key, []).append(value)
        rows = [(*key, *_aggregated(values)) for key, values in found.items()]
        aggregates = [f.count(name), f.min(name), f.max(name), f.sum(f.pmod(name, f.lit(1_000)))]
        names = ["counted", "least", "most", "sum"]
        frame = query.spark.groupBy(keys).agg(*(each.alias(as_) for each, as_ in zip(aggregates, names, strict=True)))
        return self._add(frame, table_of(rows, [*keys, *names]), f"{query.how} by {keys} of {name}")

    def _first(self, query: Query) -> Query:
        """Take some rows from the beginning, in an order that leaves no choice."""
        names = [name for name in query.pandas.columns if kind_of(name) in {"numbers", "texts", "bytes"}]
        if not names:
            return self._filter(query)
        count = self.random.choice([0, 1, 7])
        rows = sorted(_tuples(query.pandas[names]), key=lambda row: [(value is not None, value) for value in row])
        return self._add(
            query.spark.select(names).orderBy(names).limit(count),
            table_of(rows[:count], names),
            f"first of {query.how}",
        )

    def _cache(self, query: Query) -> Query:
        self.cached.append(query.spark.cache())
        return query

    def _forget(self, query: Query) -> Query:
        query.spark.unpersist()
        return query

    def _write(self, query: Query) -> Query:
        target = str(self.scratch / f"written-{self.random.getrandbits(64)}")
        query.spark.write.parquet(target)
        return self._add(self.spark.read.parquet(target), query.pandas, f"{query.how} written")

    def _some(self, query: Query) -> list[str]:
        names = list(query.pandas.columns)
        return self.random.sample(names, self.random.randint(1, len(names)))

    def _of_kind(self, query: Query, kind: str) -> list[str]:
        return [name for name in query.pandas.columns if kind_of(name) == kind]

    _steps: Final[tuple[Callable[["RandomQueries", Query], Query], ...]] = (
        _filter,
        _filter,
        _filter,
        _view,
        _project,
        _compute,
        _distinct,
        _unite,
        _unite,
        _join,
        _join,
        _group,
        _first,
        _cache,
        _forget,
        _write,
    )


Chosen = tuple[dict[str, str], Callable[[pd.DataFrame], pd.DataFrame]]
"""Options, and what they choose."""
NOT_CORRUPT: Final = Condition("NOT corrupt", lambda table: ~_flags_of(table["corrupt"]))


def where(table: pd.DataFrame, wanted: Condition) -> pd.DataFrame:
    """Choose the rows for which a condition is true, neither false nor null."""
    return table[wanted.holds(table).fillna(False)].reset_index(drop=True)


def _between(table: pd.DataFrame, first: int, after: int, topic: str | None) -> pd.DataFrame:
    is_of_batches = "last_offset" in table.columns
    lows, highs = (table[name] for name in (("base_offset", "last_offset") if is_of_batches else ("offset", "offset")))
    inside = _flags_of((lows < after) & (highs >= first))
    return table[inside | (False if topic is None else table["topic"] != topic)]


def _flags_of(values: pd.Series) -> pd.Series:
    return values.astype("boolean").fillna(False)


def joined(left: pd.DataFrame, right: pd.DataFrame, keys: list[str], kind: str) -> pd.DataFrame:
    """Join as SQL does: nulls are equal to nothing."""
    theirs: dict[Row, list[Row]] = {}
    for key, row in zip(_tuples(right[[f"other_{name}" for name in keys]]), _tuples(right), strict=True):
        theirs.setdefault(key, []).append(row)
    ours = list(zip(_tuples(left[keys]), _tuples(left), strict=True))
    matched = [(row, [] if None in key else theirs.get(key, [])) for key, row in ours]
    if kind in {"left_semi", "left_anti"}:
        rows = [row for row, others in matched if bool(others) == (kind == "left_semi")]
        return table_of(rows, list(left.columns))
    pairs = [(*row, *other) for row, others in matched for other in others]
    if kind in {"left", "full"}:
        pairs += [(*row, *[None] * len(right.columns)) for row, others in matched if not others]
    if kind in {"right", "full"}:
        keys_here = {key for key, _ in ours}
        pairs += [
            (*[None] * len(left.columns), *row)
            for key, rows in theirs.items()
            for row in rows
            if None in key or key not in keys_here
        ]
    return table_of(pairs, [*left.columns, *right.columns])


def _aggregated(values: Iterable[Any]) -> Row:
    known = [int(value) for value in values if not is_null(value)]
    return (
        len(known),
        min(known, default=None),
        max(known, default=None),
        sum(each % 1_000 for each in known) if known else None,
    )


def table_of(rows: Iterable[Row], names: list[str]) -> pd.DataFrame:
    """Make a table of rows."""
    listed = list(rows)
    return pd.DataFrame({name: column([row[place] for row in listed]) for place, name in enumerate(names)})


def _tuples(table: pd.DataFrame) -> list[Row]:
    return [
        tuple(None if is_null(value) else value for value in row) for row in table.itertuples(index=False, name=None)
    ]


def rows_of(table: pd.DataFrame) -> Counter[Row]:
    """Count equal rows of pandas."""
    return Counter(_tuples(table))


def rows_of_arrow(table: pa.Table) -> Counter[Row]:
    """Count equal rows of Spark: timestamps as microseconds, headers as pairs."""
    columns = [_values(each) for each in table.columns]
    return Counter(zip(*columns, strict=True)) if columns else Counter()


def _values(values: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(values.type):
        return list(values.cast(pa.timestamp("us", tz=values.type.tz)).cast(pa.int64()).to_pylist())
    if pa.types.is_list(values.type):
        return [
            None if headers is None else tuple((each["key"], each["value"]) for each in headers)
            for headers in values.to_pylist()
        ]
    return list(values.to_pylist())
