"""Rows of what became of offsets tell of all that could not be read."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from logstore.errors import LogStoreError
from logstore.topic_partition import TopicPartition
from replication.copies.audit.pipeline.explained_rows import MARK, ExplainedRows
from replication.explain import Sources, explain
from tests.replication.copies.salvage.copies import data, write_copy

PARTITION = TopicPartition("t", 0)
LEFT_OUT = "a symbolic link that leaves the root"


def explained(copies: Iterable[Path], rows: Iterable[tuple[object, ...]]) -> list[dict[str, Any]]:
    columns = {"topic": pa.string(), "partition": pa.int32(), "offset": pa.int64()}
    table = pa.RecordBatch.from_pylist(
        [dict(zip(columns, row, strict=True)) for row in rows], schema=pa.schema(list(columns.items()))
    )
    tables = [table.slice(start, 2) for start in range(0, len(table), 2)]
    batches = ExplainedRows([str(each) for each in copies]).batches(tables, has_offsets=len(table) > 1)
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return write_copy(tmp_path / "whole", [data(0, b"a")])


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A copy that has more, behind a link that is not followed."""
    copy = write_copy(tmp_path / "linked", [data(0, b"a"), data(0, b"b")])
    log = copy / "t-0" / f"{0:020d}.log"
    log.rename(tmp_path / "elsewhere.log")
    log.symlink_to(tmp_path / "elsewhere.log")
    return copy


def test_a_copy_that_could_not_be_opened_is_told_of_beside_what_the_others_have(whole: Path, linked: Path) -> None:
    delivered, left_out = explained([whole, linked], [(*PARTITION, MARK)])
    assert (delivered["why"], delivered["last_offset"], delivered["error"]) == ("delivered", 0, None)
    assert (left_out["topic"], left_out["partition"], left_out["why"]) == (*PARTITION, None)
    assert LEFT_OUT in left_out["error"]
    with pytest.raises(LogStoreError, match=LEFT_OUT):
        explain(PARTITION, [whole, linked])


def test_a_partition_that_no_copy_opens_is_among_those_to_explain(linked: Path) -> None:
    assert Sources.open([linked]).partitions == [PARTITION]
    first, second = (row["error"] for row in explained([linked], [(*PARTITION, MARK)]))
    assert LEFT_OUT in first
    assert "t-0 can be read in none of these copies" in second


def test_rows_of_no_partition_are_counted_across_batches_and_explain_nothing(whole: Path) -> None:
    rows = [*[(None, None, None)] * 3, (*PARTITION, MARK), (*PARTITION, 0)]
    (told,) = explained([whole], rows)
    assert (told["topic"], told["partition"], told["why"]) == (None, None, None)
    assert "without a topic or a partition were left out: 3 rows" in told["error"]


def test_rows_without_an_offset_are_counted_and_their_offsets_lacked(whole: Path) -> None:
    lacked, told = explained([whole], [(*PARTITION, None), (*PARTITION, MARK)])
    assert (lacked["first_offset"], lacked["why"]) == (0, "delivered")
    assert (told["topic"], told["partition"]) == PARTITION
    assert "null or below 0 were left out: 1 row" in told["error"]


def test_a_copy_of_another_partition_that_could_not_be_opened_does_not_matter(whole: Path, linked: Path) -> None:
    (linked / "t-0").rename(linked / "t-1")
    (row,) = explained([whole, linked], [(*PARTITION, MARK)])
    assert row["error"] is None
    assert explain(PARTITION, [whole, linked]).copy == "whole"
