"""Random records of one batch."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tests.logstore.batches import record

Draw = Callable[[], bytes | None]
"""Gives a key, a value, or the value of a header."""


class RandomRecords(NamedTuple):
    """Records in a batch that lacks some offsets."""

    deltas: list[int]
    """Of their offsets, in rising order."""
    times: list[int]
    """Deltas of their timestamps."""
    encoded: list[bytes]

    @classmethod
    def draw(cls, random: Random, count: int, draw: Draw) -> "RandomRecords":
        deltas = sorted(random.sample(range(count + 2), count))
        times = [random.randint(0, 50) for _ in deltas]
        encoded = [
            record(
                offset_delta=delta, timestamp_delta=time, key=draw(), value=draw(), headers=random_headers(random, draw)
            )
            for delta, time in zip(deltas, times, strict=True)
        ]
        return cls(deltas, times, encoded)


def random_headers(random: Random, draw: Draw) -> list[tuple[bytes, bytes | None]]:
    return [(b"h\xc3\xa9" * number, draw()) for number in range(random.choice([0, 0, 0, 3]))]
