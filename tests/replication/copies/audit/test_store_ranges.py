"""Of bounded rows from a store that part of a log is fetched which they are in, and rows are those of the files."""

import json
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from bench.audit_cluster import append, config
from bench.replica import RECORDS, one_batch
from logstore import LogDirectory, TopicPartition
from replication.copies.audit.log_rows.chosen_logs import ChosenLogs
from replication.copies.audit.log_rows.options.source_options import SourceOptions
from tests.replication.copies.audit.loopback_store import LoopbackStore

BATCHES = 240
END = BATCHES * RECORDS
NAME = TopicPartition("t", 0)
RELAXED = {"rows": "records", "failOnDataLoss": "false", "mode": "PERMISSIVE"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of three segments with indexes."""
    root = tmp_path_factory.mktemp("ranges") / "broker"
    root.mkdir()
    (root / "meta.properties").write_text("version=0\ncluster.id=clusterA\nbroker.id=1\n")
    with LogDirectory.open(root, config(BATCHES), replicated=True) as directory:
        append(directory.create(NAME), 0, 0, BATCHES)
    return root


@pytest.fixture
def copied(root: Path, tmp_path: Path) -> Path:
    return copytree(root, tmp_path / "broker")


@pytest.fixture
def store(copied: Path) -> Iterator[LoopbackStore]:
    with LoopbackStore(copied.parent, has_digests=True).running() as running:
        yield running


def rows_of(place: str, options: dict[str, str]) -> list[dict[str, Any]]:
    chosen = SourceOptions.of({"paths": json.dumps([place]), **RELAXED, **options})
    columns = {name: kind for name, kind in chosen.columns.items() if name != "is_aborted"}
    logs = ChosenLogs(chosen, columns)
    return [row for task in logs.tasks() for rows in logs.rows(task) for row in rows.to_pylist()]


def between(first: int, end: int) -> dict[str, str]:
    return {"startingOffsets": str(first), "endingOffsets": str(end)}


def test_ten_offsets_fetch_a_few_batches(copied: Path, store: LoopbackStore) -> None:
    first = END // 2 + 7
    rows = rows_of(store.address("broker"), between(first, first + 10))
    assert [row["offset"] for row in rows] == [*range(first, first + 10)]
    indexes = sum(file.stat().st_size for file in copied.rglob("*.*index"))
    assert store.sent <= 4 * len(one_batch()) + indexes
    assert store.sent < sum(file.stat().st_size for file in copied.rglob("*.log")) / 20


def test_rows_between_any_offsets_are_those_of_the_files(copied: Path, store: LoopbackStore) -> None:
    chance = random.Random(7)
    for _ in range(12):
        first = chance.randrange(END)
        bounds = between(first, min(first + chance.choice([1, RECORDS, 5 * RECORDS, END]), END))
        assert rows_of(store.address("broker"), bounds) == rows_of(str(copied), bounds)


def spoil_index(directory: Path) -> None:
    """Let entries of the offset index point into the middle of batches."""
    for path in directory.glob("*.index"):
        content = bytearray(path.read_bytes())
        content[7::8] = bytes(each ^ 1 for each in content[7::8])
        path.write_bytes(content)


def shift_index(directory: Path) -> None:
    """Let entries give positions of earlier batches than theirs."""
    for path in directory.glob("*.index"):
        content = path.read_bytes()
        entries = [content[at : at + 8] for at in range(0, len(content), 8)]
        moved = [entry[:4] + before[4:] for before, entry in pairwise(entries)]
        path.write_bytes(b"".join([entries[0], *moved]))


def lose_index(directory: Path) -> None:
    for path in directory.glob("*.index"):
        path.unlink()


def damage(directory: Path) -> None:
    """Change a byte of records, and a length."""
    for path in directory.glob("*.log"):
        content = bytearray(path.read_bytes())
        size = len(one_batch())
        for number in range(0, len(content) // size, 3):
            content[number * size + 300] ^= 1
        content[4 * size + 10] ^= 0x55
        path.write_bytes(content)


@pytest.mark.parametrize("spoil", [spoil_index, shift_index, lose_index, damage])
def test_what_indexes_and_logs_do_not_agree_on_is_read_whole(spoil: Any, copied: Path, store: LoopbackStore) -> None:
    spoil(copied / str(NAME))
    for first in (0, 3 * RECORDS + 1, END // 2):
        bounds = between(first, first + 2 * RECORDS)
        assert rows_of(store.address("broker"), bounds) == rows_of(str(copied), bounds)


@pytest.mark.parametrize("times", ["startingTimestamp", "endingTimestamp"])
def test_bounds_by_time_are_those_of_the_files(times: str, copied: Path, store: LoopbackStore) -> None:
    stamps = sorted({row["timestamp"] for row in rows_of(str(copied), {})})
    for stamp in (stamps[0], stamps[len(stamps) // 2], stamps[-1]):
        bounds = {times: stamp.isoformat()}
        assert rows_of(store.address("broker"), bounds) == rows_of(str(copied), bounds)
