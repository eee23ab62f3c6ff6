"""A partition's leader epochs, from 10 to 1,000,000."""

from collections.abc import Iterator
from contextlib import nullcontext
from random import Random
from typing import Final

import numpy as np

from bench.scaling.curve import WORK, Curve, Sample
from epoch import EpochHistory, LeaderEpochCheckpoint, LeaderEpochFileCache
from epoch.bulk import EpochTable

SCALES: Final = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
QUICK: Final = (10, 100)
CALLS: Final = 20_000
ASSIGNMENTS: Final = 100
ANSWERS: Final = 1_000_000
OFFSETS_AN_EPOCH: Final = 100
LOG_END: Final = 10**9


def history(size: int, spread: int = 2) -> EpochHistory:
    """So many epochs; every second one never led."""
    return EpochHistory((row * spread, row * OFFSETS_AN_EPOCH) for row in range(size))


def asking_one_at_a_time(size: int) -> Iterator[Sample]:
    """Known epochs, in no order."""
    cache = LeaderEpochFileCache(history(size))
    random = Random(size)
    epochs = [2 * random.randrange(size) for _ in range(CALLS)]
    end_offset_for = cache.end_offset_for

    def ask() -> None:
        for epoch in epochs:
            end_offset_for(epoch, LOG_END)

    yield Sample(ask, items=CALLS)


def asking_in_bulk(size: int) -> Iterator[Sample]:
    """Known epochs and such as never led, in no order, in one call."""
    table = EpochTable([history(size)])
    epochs = np.random.default_rng(size).integers(0, 2 * size, ANSWERS)
    yield Sample(lambda: table.end_offsets_for(0, epochs, LOG_END), items=ANSWERS)


def finding_epochs(size: int) -> Iterator[Sample]:
    """Of offsets in no order."""
    cache = LeaderEpochFileCache(history(size))
    random = Random(size)
    offsets = [random.randrange(size * OFFSETS_AN_EPOCH) for _ in range(CALLS)]
    epoch_for_offset = cache.epoch_for_offset

    def find() -> None:
        for offset in offsets:
            epoch_for_offset(offset)

    yield Sample(find, items=CALLS)


def loading(size: int) -> Iterator[Sample]:
    """From the checkpoint file."""
    LeaderEpochCheckpoint(WORK).write(history(size).entries)
    yield Sample(lambda: LeaderEpochFileCache.open(WORK), items=size)


def assigning(size: int) -> Iterator[Sample]:
    """One new epoch after another, in memory."""
    histories: list[EpochHistory] = []

    def assign() -> None:
        known = histories[-1]
        for epoch in range(2 * size, 2 * size + ASSIGNMENTS):
            known = known.assign(epoch, OFFSETS_AN_EPOCH * epoch)

    yield Sample(assign, items=ASSIGNMENTS, before=lambda: histories.append(history(size)))


def assigning_durably(size: int) -> Iterator[Sample]:
    """One new epoch, with the whole checkpoint file written anew and synced."""
    cache = LeaderEpochFileCache(history(size), LeaderEpochCheckpoint(WORK))
    epochs = iter(range(2 * size, 2**31))

    def assign() -> None:
        epoch = next(epochs)
        cache.assign(epoch, OFFSETS_AN_EPOCH * epoch)

    yield Sample(assign, items=size)


def truncating(size: int) -> Iterator[Sample]:
    """Half of the epochs are forgotten, in memory."""
    histories: list[EpochHistory] = []
    yield Sample(
        lambda: histories[-1].truncate_to(size // 2 * OFFSETS_AN_EPOCH),
        items=size // 2,
        before=lambda: histories.append(history(size)),
    )


CURVES: Final = (
    Curve("end offset for an epoch, one call", SCALES, QUICK, asking_one_at_a_time, "calls"),
    Curve("end offsets for epochs, in bulk", SCALES, QUICK, asking_in_bulk, "answers"),
    Curve("epoch for an offset", SCALES, QUICK, finding_epochs, "calls"),
    Curve(
        "load a checkpoint of epochs", SCALES, QUICK, loading, "epochs", weighed=lambda size: nullcontext(history(size))
    ),
    Curve("assign an epoch in memory", SCALES, QUICK, assigning, "calls"),
    Curve("assign an epoch durably", SCALES, QUICK, assigning_durably, "epochs"),
    Curve("truncate half of the epochs", SCALES, QUICK, truncating, "epochs"),
)
