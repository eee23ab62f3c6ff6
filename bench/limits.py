"""What this machine's memory can do on one core: no kernel can be faster. Run `python -m bench.limits`."""

import time
from collections.abc import Callable

import numpy as np

SIZE = 512 << 20
ROUNDS = 7


def read_rate() -> float:
    """Bytes a second of reading memory that is in no cache: adding it up, 64 bits at a time."""
    data = np.ones(SIZE // 8, np.int64)
    return SIZE / fastest(data.sum)


def copy_rate() -> float:
    """Bytes a second of copying memory that is in no cache."""
    source, target = np.ones(SIZE, np.uint8), np.zeros(SIZE, np.uint8)
    return SIZE / fastest(lambda: np.copyto(target, source))


def fastest(call: Callable[[], object]) -> float:
    """Seconds of the fastest of several calls."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def limits() -> dict[str, float]:
    """Give each limit in GB/s, by name."""
    return {"read": round(read_rate() / 1e9, 1), "memcpy": round(copy_rate() / 1e9, 1)}


if __name__ == "__main__":
    for name, rate in limits().items():
        print(f"{name:<8} {rate:6.1f} GB/s")
