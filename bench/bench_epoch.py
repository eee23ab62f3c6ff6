"""How fast epochs are found, one at a time and in bulk, and how fast a checkpoint loads."""

from pathlib import Path
from random import Random

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from epoch import EpochHistory, LeaderEpochCheckpoint, LeaderEpochFileCache
from epoch.bulk import EpochTable

SIZES = [10, 1_000, 100_000]
LOG_END = 10**9
CALLS = 1_000
BULK_ROWS = 1_000_000
PARTITIONS = 10_000


def history(size: int, spread: int) -> EpochHistory:
    """`size` epochs, `spread` apart: 1 is dense, 2 leaves gaps to ask for, more is sparse."""
    return EpochHistory((row * spread, row * 100) for row in range(size))


def measured(benchmark: BenchmarkFixture, full: int) -> int:
    """How many rows to work on: few where nothing is measured."""
    return min(full, 100) if benchmark.disabled else full


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("spread", [2, 997])
@pytest.mark.parametrize("asked", ["known", "between", "latest", "below", "above"])
def bench_end_offset_for_one_call(benchmark: BenchmarkFixture, size: int, asked: str, spread: int) -> None:
    size = measured(benchmark, size)
    first = CALLS
    cache = LeaderEpochFileCache(EpochHistory((first + epoch, start) for epoch, start in history(size, spread).entries))
    random = Random(size)
    rows = [random.randrange(size - 1) for _ in range(CALLS)]
    latest = first + spread * (size - 1)
    below = [random.randrange(first) for _ in rows]
    ends = [(first + spread * row, 100 * (row + 1)) for row in rows]
    questions, answers = {
        "known": ([epoch for epoch, _ in ends], ends),
        "between": ([epoch + spread - 1 for epoch, _ in ends], ends),
        "latest": ([latest] * CALLS, [(latest, LOG_END)] * CALLS),
        "below": (below, [(epoch, 0) for epoch in below]),
        "above": ([latest + 1 + row for row in rows], [(-1, -1)] * CALLS),
    }[asked]
    end_offset_for = cache.end_offset_for

    def ask() -> None:
        for epoch in questions:
            end_offset_for(epoch, LOG_END)

    benchmark.extra_info["calls"] = CALLS
    benchmark(ask)
    assert [end_offset_for(epoch, LOG_END) for epoch in questions] == answers


@pytest.mark.parametrize("size", SIZES)
def bench_epoch_for_offset_one_call(benchmark: BenchmarkFixture, size: int) -> None:
    size = measured(benchmark, size)
    cache = LeaderEpochFileCache(history(size, 1))
    random = Random(size)
    offsets = [random.randrange(size * 100) for _ in range(CALLS)]

    def ask() -> None:
        for offset in offsets:
            cache.epoch_for_offset(offset)

    benchmark.extra_info["calls"] = CALLS
    benchmark(ask)
    assert [cache.epoch_for_offset(offset) for offset in offsets] == [offset // 100 for offset in offsets]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("spread", [1, 2, 997])
def bench_end_offsets_in_bulk(benchmark: BenchmarkFixture, size: int, spread: int) -> None:
    size = measured(benchmark, size)
    known = history(size, spread)
    table = EpochTable([known])
    rows = measured(benchmark, BULK_ROWS)
    epochs = np.random.default_rng(size).integers(0, (size - 1) * spread, rows, endpoint=True)
    answers = table.end_offsets_for(0, epochs, LOG_END)
    assert (answers.epochs[0], answers.end_offsets[0]) == known.end_offset_for(int(epochs[0]), LOG_END)
    benchmark.extra_info["answers"] = rows
    benchmark(table.end_offsets_for, 0, epochs, LOG_END)


def bench_a_request_for_many_partitions(benchmark: BenchmarkFixture) -> None:
    partitions, known = measured(benchmark, PARTITIONS), history(10, 2)
    table = EpochTable([known] * partitions)
    numbers = np.arange(partitions)
    epochs = np.random.default_rng(1).integers(0, 20, partitions)
    benchmark.extra_info["answers"] = partitions
    answers = benchmark(table.end_offsets_for, numbers, epochs, numbers + 1_000)
    assert (answers.epochs[-1], answers.end_offsets[-1]) == known.end_offset_for(int(epochs[-1]), partitions + 999)


def bench_making_a_table_of_many_partitions(benchmark: BenchmarkFixture) -> None:
    histories = [history(10, 2)] * measured(benchmark, PARTITIONS)
    assert len(benchmark(EpochTable, histories)) == len(histories)


@pytest.mark.parametrize("size", SIZES)
def bench_loading_a_checkpoint(benchmark: BenchmarkFixture, tmp_path: Path, size: int) -> None:
    size = measured(benchmark, size)
    LeaderEpochCheckpoint(tmp_path).write(history(size, 1).entries)
    cache = benchmark(LeaderEpochFileCache.open, tmp_path)
    assert len(cache) == size


@pytest.mark.parametrize("size", SIZES)
def bench_assigning_a_new_epoch_in_memory(benchmark: BenchmarkFixture, size: int) -> None:
    """One after the other, as leaders follow each other: each history is the one before and an entry more."""
    size, rounds = measured(benchmark, size), 1_000 if benchmark.enabled else 1
    histories = [history(size, 1)]

    def assign() -> None:
        known = histories.pop()
        histories.append(known.assign(len(known), LOG_END + len(known)))

    benchmark.pedantic(assign, rounds=rounds)
    assert histories[0].latest == (size + rounds - 1, LOG_END + size + rounds - 1)


@pytest.mark.parametrize("size", SIZES)
def bench_assigning_a_new_epoch_with_its_file(benchmark: BenchmarkFixture, tmp_path: Path, size: int) -> None:
    size = measured(benchmark, size)
    cache = LeaderEpochFileCache(history(size, 1), LeaderEpochCheckpoint(tmp_path))
    epochs = iter(range(size, 2**31))
    benchmark(lambda: cache.assign(epoch := next(epochs), epoch * 100))
    assert LeaderEpochFileCache.open(tmp_path).latest == cache.latest != (size - 1, 100 * (size - 1))


@pytest.mark.parametrize("size", SIZES)
def bench_truncating_half(benchmark: BenchmarkFixture, size: int) -> None:
    known = history(measured(benchmark, size), 1)
    half = benchmark(known.truncate_to, len(known) * 50)
    assert len(half) == len(known) // 2
