"""Random uses of the DataFrames of logs, each beside the same in pandas.

As a program it does so over Spark Connect: `python -m tests.replication.copies.audit.uses local[2] SEED SCRATCH`.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import pandas as pd
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from replication.audit import prepare_session
from tests.replication.copies.audit.snapshot_roots import batches, write_root

COLUMNS: Final = ["replica", "topic", "partition", "base_offset"]
KEYS: Final = ["topic", "partition", "base_offset"]
STEPS: Final = 12
MOST_ROWS: Final = 2_000
"""Joins of what was united multiply rows."""


class Pair(NamedTuple):
    """A query, and what it is to give."""

    spark: DataFrame
    pandas: pd.DataFrame
    how: str


@dataclass
class Uses:
    """One sequence of uses, of queries that build on one another."""

    spark: SparkSession
    scratch: Path
    random: random.Random
    pairs: list[Pair] = field(default_factory=list)
    cached: list[DataFrame] = field(default_factory=list)
    checked: int = 0

    def run(self) -> int:
        """Load some logs, use them, and see at the end that each query still gives its rows; return how often seen."""
        for name in ("a", "b"):
            self._load(name)
        for _ in range(STEPS):
            self.random.choice(self._uses)(self, self.random.choice(self.pairs))
        for pair in self.random.sample(self.pairs, len(self.pairs)):
            self.check(pair)
        for frame in self.cached:
            frame.unpersist()
        return self.checked

    def check(self, pair: Pair) -> None:
        """See that Spark gives the rows that pandas gives."""
        assert Counter(map(tuple, pair.spark.collect())) == rows_of(pair.pandas), pair.how
        self.checked += 1

    def _load(self, name: str) -> None:
        frame = self.spark.read.format("kafka-log").load(str(self.scratch / name)).select(COLUMNS)
        self.pairs.append(Pair(frame, logs_of(name), f"load {name}"))

    def _filter(self, pair: Pair) -> None:
        condition = self.random.choice(CONDITIONS).format(
            topic=self.random.choice(TOPICS), other=self.random.choice(TOPICS), number=self.random.randrange(12)
        )
        table = pair.pandas.query(condition.replace(" = ", " == "))
        self._add(pair.spark.where(condition), table, f"{pair.how} where {condition}")

    def _unite(self, pair: Pair) -> None:
        other = self.random.choice(self.pairs)
        self._add(
            pair.spark.union(other.spark), pd.concat([pair.pandas, other.pandas]), f"({pair.how}) union ({other.how})"
        )

    def _join(self, pair: Pair) -> None:
        other = self.random.choice(self.pairs)
        self._add(
            pair.spark.join(other.spark.select(KEYS), KEYS).select(COLUMNS),
            pair.pandas.merge(other.pandas[KEYS], on=KEYS)[COLUMNS],
            f"({pair.how}) join ({other.how})",
        )

    def _view(self, pair: Pair) -> None:
        view = f"uses_{len(self.pairs)}"  # over Spark Connect a query means what has the view's name when it runs
        pair.spark.createOrReplaceTempView(view)
        topic = self.random.choice(TOPICS)
        found = self.spark.sql(f"SELECT * FROM {view} WHERE topic = '{topic}' OR partition = 1")  # noqa: S608  ours
        table = pair.pandas.query(f"topic == '{topic}' or partition == 1")
        self._add(found, table, f"{pair.how} by a view of {topic} or 1")

    def _cache(self, pair: Pair) -> None:
        self.cached.append(pair.spark.cache())

    def _forget(self, pair: Pair) -> None:
        pair.spark.unpersist()

    def _count(self, pair: Pair) -> None:
        assert pair.spark.agg(f.count("*")).collect()[0][0] == len(pair.pandas), pair.how
        self.checked += 1

    def _write(self, pair: Pair) -> None:
        target = self.scratch / f"written-{self.random.getrandbits(64)}"
        pair.spark.write.parquet(str(target))
        assert rows_of(pq.read_table(target).to_pandas()[COLUMNS]) == rows_of(pair.pandas), pair.how
        self.checked += 1

    def _add(self, frame: DataFrame, table: pd.DataFrame, how: str) -> None:
        if len(table) > MOST_ROWS:
            return
        self.pairs.append(Pair(frame, table, how))
        if self.random.random() < 0.5:
            self.check(self.pairs[-1])

    _uses: Final[tuple[Callable[["Uses", Pair], None], ...]] = (
        _filter,
        _filter,
        _filter,
        _unite,
        _join,
        _view,
        _cache,
        _forget,
        _count,
        check,
        _write,
    )


TOPICS: Final = ("orders", "ledger", "audit")
CONDITIONS: Final = (
    "topic = '{topic}'",
    "topic = '{topic}' or topic = '{other}'",
    "topic in ('{topic}', '{other}')",
    "partition = 1",
    "base_offset >= {number}",
    "topic = '{topic}' and base_offset < {number}",
    "not topic = '{topic}'",
    "replica = 'a'",
)
_ROOTS: Final = {
    "a": {f"{topic}-{number}": batches(4 + number) for topic in TOPICS for number in range(2)},
    "b": {"orders-1": batches(3), "ledger-0": batches(6)},
}


def write_logs(scratch: Path) -> None:
    """Write the logs that the sequences read."""
    for node, (name, partitions) in enumerate(_ROOTS.items()):
        write_root(scratch / name, partitions, node=node)


def logs_of(name: str) -> pd.DataFrame:
    """What was written there."""
    rows = [
        (name, *directory.split("-"), batch.base_offset)
        for directory, written in _ROOTS[name].items()
        for batch in written
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"partition": "int32", "base_offset": "int64"})


def rows_of(table: pd.DataFrame) -> Counter[tuple[object, ...]]:
    return Counter(table.itertuples(index=False, name=None))


if __name__ == "__main__":
    master, seed, place = sys.argv[1:]
    session = SparkSession.builder.remote(master).getOrCreate()
    prepare_session(session)
    assert type(session).__module__.startswith("pyspark.sql.connect")
    sys.exit(0 if Uses(session, Path(place), random.Random(int(seed))).run() > 0 else "nothing was compared")
