"""Totals of batches: what a kernel tells is what NumPy and plain Python tell."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.batch.columns import BatchColumns, StopReason
from logstore.kernels.column_scan import COLUMNS, scan
from logstore.offline.batch_scan import PLAIN_BUDGET
from logstore.verify.batch_totals import BatchTotals
from logstore.verify.header_contradictions import contradictions
from tests.logstore.batches import log
from tests.logstore.kernels.strategies import INT16, INT32, INT64

OFFSETS = st.integers(0, 6) | st.integers(0, 2**62)
SMALL = st.integers(-2, 6)

ROWS = st.fixed_dictionaries(
    {
        "base_offset": OFFSETS,
        "last_offset": OFFSETS,
        "leader_epoch": SMALL | INT32,
        "magic": st.sampled_from([2, 2, 2, 0, 1]),
        "attributes": st.sampled_from([0, 0, 4, 5, 0x10, 0x30, 0x20, 0x80]) | INT16,
        "base_timestamp": SMALL | INT64,
        "max_timestamp": SMALL | INT64,
        "producer_id": SMALL | INT64,
        "producer_epoch": SMALL | INT16,
        "base_sequence": SMALL | INT32,
        "record_count": st.integers(0, 6) | st.integers(0, 2**31 - 1),
        "crc_valid": st.sampled_from([True, True, True, False]),
    }
)


def columns_of(rows: list[dict[str, Any]]) -> BatchColumns:
    arrays = {name: np.array([row.get(name, 0) for row in rows], kind) for name, kind in COLUMNS.items()}
    return BatchColumns(**arrays, next_position=0, stop=StopReason.END)


def in_python(rows: list[dict[str, Any]]) -> BatchTotals:
    pairs = list(pairwise(rows))
    return BatchTotals(
        corrupt=sum(not row["crc_valid"] for row in rows),
        records=sum(row["record_count"] for row in rows),
        lowest_offset=min(row["base_offset"] for row in rows),
        highest_offset=max(row["last_offset"] for row in rows),
        earliest=min(row["base_timestamp"] for row in rows),
        latest=max(row["max_timestamp"] for row in rows),
        breaks=sum(
            row["last_offset"] < row["base_offset"] or (number > 0 and row["base_offset"] != before["last_offset"] + 1)
            for number, (before, row) in enumerate(zip([rows[0], *rows], rows, strict=False))
        ),
        epoch_changes=sum(before["leader_epoch"] != after["leader_epoch"] for before, after in pairs),
        without_epoch=sum(row["leader_epoch"] < 0 for row in rows),
        with_holes=sum(row["crc_valid"] and row["record_count"] < offsets(row) and not is_unread(row) for row in rows),
        contradictory=sum(row["crc_valid"] and row["magic"] == 2 and is_contradictory(row) for row in rows),
        with_producer=sum(row["producer_id"] >= 0 for row in rows),
        transactional=sum(row["attributes"] & 0x10 != 0 for row in rows),
    )


def offsets(row: dict[str, Any]) -> int:
    return int(row["last_offset"] - row["base_offset"] + 1)


def is_unread(row: dict[str, Any]) -> bool:
    """Whether it is a wrapped set that cannot be read."""
    return row["magic"] < 2 and row["record_count"] == 0


def is_contradictory(row: dict[str, Any]) -> bool:
    has_producer = row["producer_id"] >= 0
    return (
        row["record_count"] > offsets(row)
        or row["attributes"] % 8 > 4
        or row["attributes"] not in range(128)
        or (row["attributes"] & 0x10 != 0 and not has_producer)
        or (has_producer and row["producer_epoch"] < 0)
        or (not has_producer and row["base_sequence"] > 0)
    )


@given(st.lists(ROWS, min_size=1, max_size=5))
def test_any_batches_are_totalled_alike(rows: list[dict[str, Any]]) -> None:
    columns = columns_of(rows)
    expected = in_python(rows)
    assert BatchTotals.in_plain_numpy(columns) == expected
    assert BatchTotals.by_kernel(columns) == expected


@given(st.lists(ROWS, min_size=1, max_size=5))
def test_whoever_finds_no_contradiction_counted_has_none_to_look_for(rows: list[dict[str, Any]]) -> None:
    columns = columns_of(rows)
    sound = columns.crc_valid & (columns.magic == 2)
    found = any(bool((each.found & sound).any()) for each in contradictions(columns))
    assert (BatchTotals.by_kernel(columns).contradictory > 0) == found


@pytest.mark.parametrize("left", [0, 10_000])
def test_a_sound_log_has_nothing_to_look_for(left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PLAIN_BUDGET, "batches_left", left)
    columns = scan(np.frombuffer(log(3, records_each=2), np.uint8), check_crc=True)
    totals = BatchTotals.of(columns)
    assert (totals.records, totals.lowest_offset, totals.highest_offset) == (6, 0, 5)
    assert totals[6:] == (0,) * len(totals[6:])


def test_no_batches_are_refused_before_a_kernel_looks_at_the_first() -> None:
    with pytest.raises(ValueError, match="no totals"):
        BatchTotals.by_kernel(columns_of([]))
