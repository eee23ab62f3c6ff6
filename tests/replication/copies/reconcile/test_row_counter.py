"""Rows of many partitions in any order, counted as runs."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.copies.reconcile import row_counter
from replication.copies.reconcile.row_counter import BUCKET_BITS, UNUSABLE, count_rows, merged

Row = tuple[str | None, int | None, int | None, int | None]
NAMES = ("topic", "partition", "offset", "leader_epoch")
SCHEMA = pa.schema(zip(NAMES, (pa.string(), pa.int32(), pa.int64(), pa.int32()), strict=True))
offsets = st.one_of(st.integers(0, 9), st.integers((1 << BUCKET_BITS) - 4, (1 << BUCKET_BITS) + 4), st.none())
rows_of_partitions = st.tuples(
    st.sampled_from(["a", "b", "é"]), st.integers(0, 1), offsets, st.none() | st.integers(0, 1)
)
rows_of_none = st.just((None, None, None, None))


def table(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(NAMES, row, strict=True)) for row in rows], schema=SCHEMA)


def counted(batches: list[pa.RecordBatch]) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for run in (run for batch in batches for run in batch.to_pylist()):
        assert run["first_offset"] >> BUCKET_BITS == run["last_offset"] >> BUCKET_BITS == run["bucket"]
        for offset in range(run["first_offset"], run["last_offset"] + 1):
            found[run["topic"], run["partition"], offset, run["leader_epoch"]] += run["copies"]
    return found


@pytest.mark.parametrize("most", [0, 3, 1 << 19])
def test_each_row_is_counted_once(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(row_counter, "MOST_RUNS", most)

    @given(st.lists(st.lists(rows_of_partitions | rows_of_none, max_size=20), max_size=4))
    def check(batches: list[list[Row]]) -> None:
        expected = Counter(
            (topic, partition, UNUSABLE if offset is None else offset, -1 if epoch is None else epoch)
            for topic, partition, offset, epoch in (row for batch in batches for row in batch)
        )
        runs = list(count_rows(map(table, batches)))
        assert counted(runs) == expected
        if runs:
            assert counted([merged(pa.concat_batches(runs))]) == expected

    check()


def test_rows_in_order_are_one_run_for_each_partition() -> None:
    batches = [
        table([("a", place, offset, 3) for offset in range(size, size + 500)]) for place, size in ((0, 0), (0, 500))
    ]
    batches.append(table([("a", 1, offset, 3) for offset in range(40)]))
    [runs] = count_rows(batches)
    assert [(run["partition"], run["first_offset"], run["last_offset"]) for run in runs.to_pylist()] == [
        (0, 0, 999),
        (1, 0, 39),
    ]
