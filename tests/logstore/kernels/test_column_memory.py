"""Memory of columns: given again once nobody looks at it, and never before."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns
from logstore.kernels.column_memory import KEPT, ColumnMemory, SpareMemory
from logstore.kernels.column_scan import scan
from tests.logstore.batches import log

ROWS = 1_000
DTYPES = {"number": np.int64, "flag": np.bool_, "short": np.int16}


def address(columns: dict[str, NDArray[Any]]) -> int:
    """Where the memory of columns begins."""
    return min(int(column.ctypes.data) for column in columns.values())


def test_columns_have_their_types_and_lie_apart() -> None:
    columns = ColumnMemory(DTYPES, ROWS).take()
    for number, column in enumerate(columns.values()):
        column[:] = number
    assert {name: column.dtype for name, column in columns.items()} == {
        name: np.dtype(kind) for name, kind in DTYPES.items()
    }
    assert [column.tolist() for column in columns.values()] == [[number] * ROWS for number in range(len(DTYPES))]


def test_memory_that_nobody_looks_at_is_given_again() -> None:
    memory = ColumnMemory(DTYPES, ROWS)
    memory.take()["number"][:] = 7
    assert memory.take()["number"].tolist() == [7] * ROWS  # the system would give zeros


@pytest.mark.parametrize(
    "view",
    [
        lambda column: column,
        lambda column: column[10:][2:5],
        lambda column: column.view(np.uint8)[3:].reshape(1, -1),
        lambda column: memoryview(column)[1:],
        lambda column: np.frombuffer(column, np.uint8),
    ],
)
def test_any_view_of_one_column_keeps_the_memory(view: Callable[[NDArray[Any]], object]) -> None:
    memory = ColumnMemory(DTYPES, ROWS)
    columns = memory.take()
    held, begin = view(columns["number"]), address(columns)
    del columns
    assert address(memory.take()) != begin
    del held
    assert begin in {address(columns) for columns in [memory.take(), memory.take()]}


def test_so_many_blocks_wait_at_most() -> None:
    memory = ColumnMemory(DTYPES, ROWS)
    first = {address(columns) for columns in [memory.take() for _ in range(3 * KEPT)]}
    del first
    assert len(memory) == KEPT


def test_a_scan_leaves_the_columns_of_others_as_they_are() -> None:
    def rows(columns: BatchColumns) -> list[list[int]]:
        return [columns.position.tolist(), columns.base_offset.tolist(), columns.crc.tolist()]

    logs = [np.frombuffer(log(batches=count, records_each=count), np.uint8) for count in range(1, 2 * KEPT)]
    kept = [scan(data, check_crc=True) for data in logs]
    assert [rows(columns) for columns in kept] == [rows(scan(data, check_crc=True)) for data in logs]


def test_a_block_that_was_given_back_is_the_next_and_others_are_new() -> None:
    memory = SpareMemory(10, kept=2)
    first, second = memory.take(), memory.take()
    assert first is not second
    assert len(first) == 10
    memory.give(first)
    assert len(memory) == 1
    assert memory.take() is first
    assert len(memory) == 0


def test_no_more_blocks_are_kept_than_it_says() -> None:
    memory = SpareMemory(10, kept=2)
    blocks = [memory.take() for _ in range(3)]
    for block in blocks:
        memory.give(block)
    assert len(memory) == 2
    assert memory.take() is blocks[2]
