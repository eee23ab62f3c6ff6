"""Indexes that agree with their batches are known at once, and none is that does not."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from logstore.kernels.index_agreement import offset_index_agrees, time_index_agrees
from tests.logstore.kernels.guarded import guarded
from tests.logstore.kernels.sizes import EXAMPLES
from tests.logstore.kernels.strategies import INT64

Batch = tuple[int, int, int, int]
"""Position, first and last offset, largest timestamp."""
BASE = 100


@st.composite
def batches(draw: st.DrawFn) -> list[Batch]:
    """Batches as a log has them, after the cleaner too; now and then one of them is out of order."""
    rows: list[Batch] = []
    position, offset = 0, BASE
    for _ in range(draw(st.integers(1, 4))):
        first = offset + draw(st.sampled_from([0, 0, 0, 2, -3]))
        last = first + draw(st.sampled_from([0, 1, 4]))
        rows.append((position, first, last, draw(st.integers(-1, 9) | st.integers(-1, 9) | INT64)))
        position, offset = position + draw(st.integers(61, 99)), last + 1
    return rows


def column(rows: list[Batch], number: int) -> NDArray[np.int64]:
    return np.array([row[number] for row in rows], np.int64)


def mangled(draw: st.DrawFn, entries: list[tuple[int, int]], form: struct.Struct) -> bytes:
    """Join entries, some of them changed, left out, doubled or exchanged, and odd bytes behind them."""
    for _ in range(draw(st.sampled_from([0, 1, 1, 2])) if entries else 0):
        place = draw(st.integers(0, len(entries) - 1))
        first, second = entries[place]
        match draw(st.integers(0, 6)):
            case 0:
                entries[place : place + 1] = []
            case 1:
                entries[place:place] = [entries[place]]
            case 2:
                entries.reverse()
            case 3:
                entries[place] = draw(st.sampled_from([(0, 0), (2**31 - 1, 2**31 - 1), (-1, -1)]))
            case 4 | 5:
                entries[place] = first + draw(st.integers(-3, 3)), second
            case _:
                entries[place] = first, second + draw(st.integers(-3, 3))
        if not entries:
            break
    slots = [form.pack(*map(fitting, entry, (form.size - 4, 4))) for entry in entries]
    return b"".join(slots) + draw(st.sampled_from([b"", b"", b"", b"\0", bytes(8), bytes(12)]))


def fitting(value: int, size: int) -> int:
    return max(-(2 ** (8 * size - 1)), min(value, 2 ** (8 * size - 1) - 1))


@st.composite
def offset_indexes(draw: st.DrawFn) -> tuple[list[Batch], bytes]:
    rows = draw(batches())
    entries = [(last - BASE, position) for position, _, last, _ in rows if draw(st.booleans())]
    return rows, mangled(draw, entries, struct.Struct(">ii"))


@st.composite
def time_indexes(draw: st.DrawFn) -> tuple[list[Batch], bytes]:
    rows = draw(batches())
    largest = -1
    entries: list[tuple[int, int]] = []
    for _, first, last, timestamp in rows:
        rises, largest = timestamp > largest, max(largest, timestamp)
        if rises and draw(st.booleans()):
            entries.append((largest, draw(st.integers(first, last)) - BASE))
    return rows, mangled(draw, entries, struct.Struct(">qi"))


def offset_index_is_right(index: bytes, rows: list[Batch]) -> bool:
    if len(index) % 8:
        return False
    entries = list(struct.iter_unpack(">ii", index))
    positions = [position for _, position in entries]
    right = {(last - BASE, position) for position, _, last, _ in rows}
    return (0, 0) not in entries and positions == sorted(set(positions)) and right.issuperset(entries)


def time_index_is_right(index: bytes, rows: list[Batch]) -> bool:
    lasts = [last for _, _, last, _ in rows]
    if len(index) % 12 or lasts != sorted(set(lasts)):
        return False
    entries = list(struct.iter_unpack(">qi", index))
    timestamps = [timestamp for timestamp, _ in entries]
    holders = [
        next((number for number, row in enumerate(rows) if row[1] <= BASE + relative <= row[2]), None)
        for _, relative in entries
    ]
    return (
        timestamps == sorted(set(timestamps))
        and holders == sorted(number for number in holders if number is not None)
        and all(0 <= timestamp <= max([0, *(row[3] for row in rows)]) for timestamp in timestamps)
        and all(
            timestamp >= max(row[3] for row in rows[: holder + 1])
            for timestamp, holder in zip(timestamps, holders, strict=True)
            if holder is not None
        )
    )


@settings(max_examples=EXAMPLES * 2)
@given(offset_indexes())
def test_an_offset_index_agrees_where_each_entry_is_a_batch_s(case: tuple[list[Batch], bytes]) -> None:
    rows, index = case
    agrees = offset_index_agrees(guarded(index), BASE, column(rows, 0), column(rows, 2))
    assert agrees == offset_index_is_right(index, rows)


@settings(max_examples=EXAMPLES * 2)
@given(time_indexes())
def test_a_time_index_agrees_where_no_batch_up_to_an_entry_is_later(case: tuple[list[Batch], bytes]) -> None:
    rows, index = case
    agrees = time_index_agrees(guarded(index), BASE, column(rows, 1), column(rows, 2), column(rows, 3))
    # Where batches overlap, entries may be held against another batch: that is for whoever looks at them one by one.
    assert not agrees or time_index_is_right(index, rows)
    firsts = [first for _, first, _, _ in rows]
    if all(first > last for first, (_, _, last, _) in zip(firsts[1:], rows, strict=False)):
        assert agrees == time_index_is_right(index, rows)


@pytest.mark.parametrize("timestamp", [-1, -(2**63)])
def test_no_entry_from_before_1970_agrees(timestamp: int) -> None:
    """Differences of such times may not fit 64 bits."""
    index = guarded(struct.pack(">qi", timestamp, 0))
    assert not time_index_agrees(index, BASE, np.array([BASE]), np.array([BASE]), np.array([-1]))


def test_an_empty_index_agrees_with_anything() -> None:
    none = np.empty(0, np.int64)
    assert offset_index_agrees(guarded(b""), BASE, none, none)
    assert time_index_agrees(guarded(b""), BASE, none, none, none)
