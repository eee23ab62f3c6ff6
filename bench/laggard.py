"""A follower that has fallen behind, and how soon it has what its leader has: by the sizes of their files."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_lead import rates_in_turn
from bench.produced import SECONDS, Load, Throughput

AHEAD = Load(1_024, 256 << 10)
"""What it does not have."""
LOOK_SECONDS = 0.002
ROUNDS, WARM_UP = 5, 3


class Laggard:
    """Stands still with its process while its leader takes more."""

    def __init__(
        self,
        producer: Throughput,
        leader: Path,
        follower: Path,
        pause: Callable[[], object],
        resume: Callable[[], object],
    ) -> None:
        """`leader` and `follower` are the partition's directories."""
        self._producer = producer
        self._leader = leader
        self._follower = follower
        self._pause = pause
        self._resume = resume

    def fall_back_and_catch_up(self, size: int) -> float:
        """Return how many MB a second were written, but for the first of them: until then connections are made."""
        self._pause()
        self._producer.produce(size)
        end, begin = _bytes(self._leader), _bytes(self._follower)
        self._resume()
        begun, first = self._wait_for(begin + (end - begin) // 10)
        ended, last = self._wait_for(end)
        return max(last - first, 1) / max(ended - begun, 1e-6) / 1e6  # so little may have come at once

    def _wait_for(self, wanted: int) -> tuple[float, int]:
        deadline = time.monotonic() + SECONDS
        while (size := _bytes(self._follower)) < wanted:
            assert time.monotonic() < deadline, f"the follower has {size} of {wanted} bytes"
            time.sleep(LOOK_SECONDS)
        return time.perf_counter(), size


def catching_up_in_turn(benchmark: BenchmarkFixture, sides: Mapping[str, Laggard], ours: str, size: int) -> None:
    """Make each side fall back by so many bytes and catch up, by turns."""
    catching_up = {side: partial(each.fall_back_and_catch_up, size) for side, each in sides.items()}
    rates_in_turn(benchmark, catching_up, ours, (ROUNDS, WARM_UP))


def _bytes(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.glob("*.log"))
