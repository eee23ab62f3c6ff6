"""Rows are what plain Python reads from the same logs: of all codecs and magics, asked for in any way, in any tasks."""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from logstore import LogFile
from logstore.batch.batch_attributes import TimestampType
from logstore.batch.compression.codec import Codec, compress
from replication.copies.audit.log_rows.conditions.condition import Span
from replication.copies.audit.log_rows.conditions.where import parse_where
from replication.copies.audit.snapshots.snapshot import find_snapshots
from replication.copies.audit.spark.source.data_source import KafkaLogSource
from replication.copies.audit.tables import RECORDS
from tests.campaign import Campaign
from tests.data.replicas import LABELS, PROJECT, replicas
from tests.logstore.batches import batch, record
from tests.replication.copies.audit.one_process import examine_tasks, plan
from tests.replication.copies.audit.spark.random_records import RandomRecords

Row = dict[str, Any]
LEGACY = PROJECT / "tests/data/legacy"
WORDS = (b"k1", "Größe".encode(), b"\xff\x00\xfe")
"""Keys that conditions meet again."""


def read(*paths: Path, **options: str) -> list[Row]:
    source = KafkaLogSource({"paths": json.dumps(list(map(str, paths))), "rows": "records", **options})
    reader = source.reader(source.schema())
    return [row for task in reader.partitions() for each in reader.read(task) for row in each.to_pylist()]


def plain_rows(file: Path, replica: str) -> Iterator[Row]:
    """The records of a file as Python decodes them."""
    topic, partition = file.parent.name.rsplit("-", 1)
    for each in LogFile.open(file).batches():
        for found in each.records():
            yield {
                "key": found.key,
                "value": found.value,
                "topic": topic,
                "partition": int(partition),
                "offset": found.offset,
                "timestamp_ms": found.timestamp,
                "timestampType": int(TimestampType.NONE if each.magic == 0 else each.timestamp_type),
                "headers": [header._asdict() for header in found.headers] or None,
                "replica": replica,
                "leader_epoch": each.leader_epoch,
                "producer_id": each.producer_id,
                "producer_epoch": each.producer_epoch,
                "sequence": sequence(each, found.offset),
                "is_transactional": each.is_transactional,
                "is_control": each.is_control,
                "base_offset": each.base_offset,
                "segment": int(file.stem),
                "position": each.position,
                "corrupt": None,
            }


def sequence(batch: Any, offset: int) -> int:
    return -1 if batch.base_sequence < 0 else (batch.base_sequence + offset - batch.base_offset) % 2**31


def without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}


def compared(rows: list[Row]) -> list[Row]:
    """What the plain reader tells too; timestamps as Spark's are those in milliseconds."""
    for row in rows:
        if row["corrupt"] is None:
            assert row["timestamp"].timestamp() * 1_000 == pytest.approx(row["timestamp_ms"], abs=1)
    return [without(row, "timestamp", "is_aborted") for row in rows]


@pytest.mark.parametrize("label", LABELS)
def test_the_records_of_real_replicas_are_those_of_kafkas_files(label: str) -> None:
    files = sorted(replicas(label).glob("*/*-*/*.log"))

    found = compared(read(replicas(label)))

    expected = [row for file in files for row in plain_rows(file, file.parent.parent.name)]
    key = lambda row: (row["replica"], row["topic"], row["partition"], row["offset"])  # noqa: E731
    assert sorted(found, key=key) == sorted(expected, key=key)
    assert len(found) > 1_000


@pytest.mark.parametrize("log", sorted(LEGACY.glob("*.log")), ids=lambda path: path.stem)
def test_logs_from_before_magic_2_have_the_same_columns(log: Path, tmp_path: Path) -> None:
    directory = tmp_path / "old-0"
    directory.mkdir()
    target = directory / f"{0:020d}.log"
    shutil.copy(log, target)

    assert compared(read(directory)) == list(plain_rows(target, tmp_path.name))


class MadeLog:
    """A log of random batches: of all codecs, by several producers, under rising epochs, in several segments."""

    def __init__(self, root: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.root = root
        for partition in range(2):
            self._write(root / f"topic_{partition}-{partition}")

    def _write(self, directory: Path) -> None:
        directory.mkdir(parents=True)
        offset = epoch = 0
        for _ in range(self.random.randint(1, 3)):
            content, base = b"", offset
            for _ in range(self.random.randint(1, 12)):
                epoch += self.random.random() < 0.2
                encoded, offset = self._batch(offset, epoch)
                content += encoded
            (directory / f"{base:020d}.log").write_bytes(content)
            if self.random.random() < 0.7:
                self._index(directory, base)

    def _batch(self, offset: int, epoch: int) -> tuple[bytes, int]:
        deltas, times, records = RandomRecords.draw(self.random, self.random.randint(1, 6), self._bytes)
        codec = self.random.choice(list(Codec))
        section = b"".join(records)
        producer = self.random.choice([-1, 7, 8])
        encoded = batch(
            records=records,
            section=section if codec is Codec.NONE else compress(codec, section),
            base_offset=offset,
            leader_epoch=epoch,
            attributes=codec | (self.random.random() < 0.2) << 3,
            last_offset_delta=deltas[-1],
            base_timestamp=1_000,
            max_timestamp=1_000 + max(times),
            producer_id=producer,
            producer_epoch=-1 if producer < 0 else 0,
            base_sequence=-1 if producer < 0 else self.random.choice([5, 2**31 - 2]),
        )
        return encoded, offset + deltas[-1] + 1

    def _bytes(self) -> bytes | None:
        return self.random.choice([None, b"", *WORDS, self.random.randbytes(self.random.randint(1, 200))])

    def _index(self, directory: Path, base: int) -> None:
        """Write the offset and time indexes that a broker with a tiny `index.interval.bytes` would; some wrong."""
        file = directory / f"{base:020d}.log"
        offsets = times = b""
        largest = (-1, 0)
        for each in LogFile.open(file).batches():
            largest = max(largest, (each.max_timestamp, each.last_offset))
            if not each.position:
                continue
            lie = self.random.random() < 0.1
            offsets += (each.last_offset - base + lie).to_bytes(4) + (each.position + lie).to_bytes(4)
            times += (largest[0] + lie).to_bytes(8) + (largest[1] - base).to_bytes(4)
        file.with_suffix(".index").write_bytes(offsets)
        file.with_suffix(".timeindex").write_bytes(times)

    def rows(self) -> list[Row]:
        files = sorted(self.root.glob("*/*.log"))
        return [row for file in files for row in plain_rows(file, self.root.name)]

    def where(self) -> str:
        number = self.random.randint(-1, 40)
        second = self.random.randint(950, 1_060)
        time = f"'1970-01-01T00:00:{second // 1_000:02d}.{second % 1_000:03d}'"
        return self.random.choice(
            [
                f"offset >= {number}",
                f"offset BETWEEN {number} AND {number + 9}",
                f"offset = {number} OR offset IN ({number + 3}, {number + 30})",
                f"topic = 'topic_0' AND offset < {number}",
                f"topic LIKE 'topic%1' OR offset > {number}",
                f"timestamp >= {time}",
                f"timestamp < {time} AND leader_epoch > 1",
                f"timestamp = {time}",
                "producer_id = 7",
                f"producer_id IN (7, 8) AND offset > {number}",
                "leader_epoch < 2 AND partition = 1",
                f"timestamp_ms >= {second}",
                "key = 'k1'",
                f"key IN ('k1', X'ff00fe') AND offset > {number}",
                "key LIKE '%_r%e' OR key IS NULL",
                f"NOT (key >= 'k' OR timestamp_ms < {second})",
            ]
        )


def test_random_logs_give_what_python_reads_whatever_is_asked_for(tmp_path: Path) -> None:
    campaign = Campaign("spark: records of random logs by conditions", full=2_000, share=60)
    seen = 0
    for number in range(campaign.count):
        made = MadeLog(tmp_path / str(number), campaign.seed * 10_000 + number)
        rows, where = made.rows(), made.where()
        task_bytes = str(made.random.choice([100, 1_000, 1 << 30]))

        found = compared(read(made.root, where=where, taskBytes=task_bytes))

        condition = parse_where(where)
        wanted = [row for row in rows if holds(condition, row)]
        key = lambda row: (row["topic"], row["offset"])  # noqa: E731
        assert sorted(found, key=key) == sorted(wanted, key=key), f"seed {number}: {where}"
        seen += len(found)
        shutil.rmtree(made.root)
    campaign.report(campaign.count, f"{seen:,} records compared")


def holds(condition: Any, row: Row) -> bool:
    known = {**row, "timestamp": row["timestamp_ms"], "key": pa.array([row["key"]], pa.binary())}
    return bool(np.all(condition.may_hold({name: Span.of(value) for name, value in known.items()})))


SUBSETS = [["offset"], ["is_control"], ["topic", "leader_epoch"], ["headers", "value"], ["sequence", "key"]]


@pytest.mark.parametrize("columns", SUBSETS, ids=",".join)
def test_a_part_of_the_columns_is_that_part_of_all(columns: list[str], tmp_path: Path) -> None:
    made = MadeLog(tmp_path / "log", 5)

    found = read(made.root, columns=",".join(columns))

    assert found == [{name: row[name] for name in columns} for row in read(made.root)]
    assert len(found) == len(made.rows())


@given(
    starting=st.dictionaries(st.sampled_from(["0", "1"]), st.integers(-2, 30).filter(lambda each: each != -1)),
    ending=st.integers(0, 60),
)
def test_offsets_by_partition_bound_those_partitions(
    starting: dict[str, int], ending: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assume(ending >= max(starting.values(), default=0))  # a range that ends before it starts is refused
    root = tmp_path_factory.getbasetemp() / "by-partition"
    made = MadeLog(root, 11) if not root.exists() else None
    del made
    options = {"endingOffsets": str(ending)}
    if starting:
        options["startingOffsets"] = json.dumps({f"topic_{each}": {each: offset} for each, offset in starting.items()})

    found = read(root, **options)

    files = sorted(root.glob("*/*.log"))
    expected = [
        (row["topic"], row["offset"])
        for file in files
        for row in plain_rows(file, root.name)
        if row["offset"] < ending and row["offset"] >= starting.get(str(row["partition"]), -2)
    ]
    assert sorted((row["topic"], row["offset"]) for row in found) == sorted(expected)


def test_times_are_bounded_as_the_options_say(tmp_path: Path) -> None:
    made = MadeLog(tmp_path / "log", 3)
    whole = made.rows()

    by_number = read(made.root, startingTimestamp="1010", endingTimestamp="1030")
    by_text = read(made.root, startingTimestamp="1970-01-01T00:00:01.010", endingTimestamp="1970-01-01T00:00:01.030Z")

    assert by_number == by_text
    assert len(by_number) == sum(1_010 <= row["timestamp_ms"] < 1_030 for row in whole) > 0


def test_a_replica_of_several_is_chosen_by_its_name() -> None:
    found = read(replicas("diverged"), replicas="broker-2", topics="diverge")

    assert {row["replica"] for row in found} == {"broker-2"}


def test_the_columns_are_sparks_own_and_then_ours() -> None:
    own = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]

    assert [*RECORDS][: len(own)] == own


def test_timestamps_beyond_sparks_are_null_but_told_in_milliseconds(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    directory.mkdir()
    last = 2**63 - 1
    content = batch(records=[record()], base_timestamp=last, max_timestamp=last)
    (directory / f"{0:020d}.log").write_bytes(content)

    [row] = read(directory)

    assert (row["timestamp"], row["timestamp_ms"]) == (None, last)


def test_old_names_of_options_are_taken_with_a_warning(tmp_path: Path) -> None:
    made = MadeLog(tmp_path / "log", 2)

    with pytest.warns(
        DeprecationWarning, match=r"the option (first|last)_offset of kafka-log is called (starting|ending)Offsets now"
    ):
        found = read(made.root, first_offset="3", last_offset="5")

    assert {row["offset"] for row in found} <= {3, 4, 5}
    assert len(found) == sum(3 <= row["offset"] <= 5 for row in made.rows())


@pytest.mark.parametrize("rows", ["epochs", "segments"])
def test_epochs_and_segments_are_those_of_the_audit(rows: str, tmp_path: Path) -> None:
    shutil.copytree(replicas("diverged"), tmp_path, dirs_exist_ok=True)
    (tmp_path / "broker-3/orders-0/00000000000000011600.log").unlink()  # of 0 bytes, like others that stay
    examined = examine_tasks(plan(find_snapshots([tmp_path])))

    found = read(tmp_path, rows=rows)

    expected = [without(each, "read_at") for copy in examined for each in copy[rows] or ()]
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert any(row["batches"] == 0 for row in found)
