"""EpochTable answers as EpochHistory does, row by row. Runs as plain Python too, with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epoch import EpochHistory
from epoch.bulk import EpochTable
from tests.epoch.histories import histories

LOG_END = 5_000


def worth_asking(history: EpochHistory) -> list[int]:
    """The epochs of a history, those beside them, and the edges."""
    beside = [near for epoch in history.columns[0] for near in (epoch - 1, epoch, epoch + 1)]
    return [-(2**63), -2, -1, 0, *beside, 2**31 - 1, 2**63 - 1]


@settings(max_examples=60)
@given(st.lists(histories(), max_size=6))
def test_every_partition_is_answered_as_its_history_does(partitions: list[EpochHistory]) -> None:
    asked = [(number, epoch) for number, history in enumerate(partitions) for epoch in worth_asking(history)]
    numbers = [number for number, _ in asked]
    epochs = [epoch for _, epoch in asked]
    ends = [LOG_END + row for row in range(len(asked))]
    answers = EpochTable(partitions).end_offsets_for(numbers, epochs, ends)
    assert list(zip(*(column.tolist() for column in answers), strict=True)) == [
        partitions[number].end_offset_for(epoch, end) for (number, epoch), end in zip(asked, ends, strict=True)
    ]


@settings(max_examples=30)
@given(histories())
def test_many_epochs_of_one_partition(history: EpochHistory) -> None:
    asked = worth_asking(history)
    answers = EpochTable([history]).end_offsets_for(0, asked, LOG_END)
    expected = [history.end_offset_for(epoch, LOG_END) for epoch in asked]
    assert list(zip(*(column.tolist() for column in answers), strict=True)) == expected


def test_epochs_in_clusters_far_apart_are_searched() -> None:
    epochs = [*range(500), *range(2**30, 2**30 + 500), 2**31 - 1]
    history = EpochHistory((epoch, row * 10) for row, epoch in enumerate(epochs))
    asked = [*range(-3, 510), *range(2**30 - 5, 2**30 + 510), 2**31 - 2, 2**31 - 1, 2**31]
    answers = EpochTable([history]).end_offsets_for(0, asked, 10**6)
    expected = [history.end_offset_for(epoch, 10**6) for epoch in asked]
    assert list(zip(*(column.tolist() for column in answers), strict=True)) == expected


def test_a_request_for_ten_thousand_partitions_is_one_call() -> None:
    lengths = [number % 7 for number in range(10_000)]
    partitions = [EpochHistory((epoch, epoch * 10 + 1) for epoch in range(length)) for length in lengths]
    numbers = np.arange(10_000)
    answers = EpochTable(partitions).end_offsets_for(numbers, 3, numbers + 1_000)
    assert answers.epochs.tolist() == [3 if length > 3 else -1 for length in lengths]
    known = {4: lambda number: number + 1_000, 5: lambda _: 41, 6: lambda _: 41}
    assert answers.end_offsets.tolist() == [
        known[length](number) if length > 3 else -1 for number, length in enumerate(lengths)
    ]


def test_columns_may_be_of_any_integers_and_shape() -> None:
    table = EpochTable([EpochHistory([(1, 10), (4, 40)])])
    columns = np.zeros((2, 3), np.int8), np.arange(12, dtype=">i4").reshape(2, 6)[:, ::2], np.uint16(90)
    answers = table.end_offsets_for(*columns)
    assert answers.epochs.tolist() == [[0, 1, 4], [-1, -1, -1]]
    assert answers.end_offsets.tolist() == [[10, 40, 90], [-1, -1, -1]]
    assert (table.end_offsets_for(0, 2, 90).epochs, len(table)) == (1, 1)


def test_columns_are_repeated_along_each_other_as_numpy_does() -> None:
    histories = [EpochHistory([(1, 10), (4, 40)]), EpochHistory([(2, 20)])]
    asked, ends = [1, 2, 4], [80, 90]
    answers = EpochTable(histories).end_offsets_for([[0], [1]], asked, [[80], [90]])
    found = np.stack(answers, axis=-1).tolist()
    assert found == [
        [[*history.end_offset_for(epoch, end)] for epoch in asked] for history, end in zip(histories, ends, strict=True)
    ]


@pytest.mark.parametrize("partition", [-1, 2, 2**62, -(2**63)])
def test_a_partition_that_is_not_there_is_named(partition: int) -> None:
    table = EpochTable([EpochHistory([(1, 10)]), EpochHistory()])
    with pytest.raises(IndexError, match=rf"row 2 asks for partition {partition} of 2"):
        table.end_offsets_for([0, 1, partition], 1, 50)


def test_an_empty_table_and_an_empty_request() -> None:
    assert EpochTable([]).end_offsets_for([], [], []).epochs.tolist() == []
    with pytest.raises(IndexError):
        EpochTable([]).end_offsets_for(0, 0, 0)
