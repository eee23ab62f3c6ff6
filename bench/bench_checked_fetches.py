"""What it costs a broker to check what it sends: a whole log fetched once, in order and at random, and then again.

In one process, from the bytes of a request to those of its answer, by turns with the check and without. A log of 64 MiB
in batches of 16 KiB; 4 MiB without --benchmark-enable.
"""

import random
import time
from collections.abc import Sequence
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_serve_requests import TAIL, Handlers, changing_log, fill, rounds, told
from bench.replica import BATCH_BYTES, RECORDS, one_batch
from bench.room import require_room
from logstore import Log
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.replicas.damage.read_damages import VERIFY_INTERVAL_MS
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.records.metadata.image import ClusterImage
from replication.wire.client.exchange import Exchange
from replication.wire.encoding.framing import SIZE_BYTES
from replication.wire.messages.api_versions import ApiVersions
from replication.wire.messages.fetch import FetchPartition, FetchRequest

FULL, SMALL = 64 << 20, 4 << 20
ROUNDS = 40
TAIL_READS = 500


class Side:
    """A broker of one log, whose answers are checked or not, and what they cost."""

    def __init__(self, log: Log, *, is_checked: bool) -> None:
        self._log = log
        self.is_checked = is_checked
        self._partitions = HostedPartitions()
        self._handlers = Handlers(reading_apis(self._partitions, KnownCluster("bench", 1, ClusterImage)))
        self._exchange = Exchange("bench")
        self._exchange.versions = ApiVersions({1: range(4, 13)})  # by name
        self.times: dict[str, list[float]] = {}
        """Microseconds of processor time an answer, by round."""

    def forget(self) -> None:
        """Know of nothing that it is sound."""
        ranges = self._log.sound_ranges(VERIFY_INTERVAL_MS) if self.is_checked else None
        self._partitions[TAIL] = HostedPartition(self._log, 0, sound_ranges=ranges)

    def fetch(self, name: str, offsets: Sequence[int], size: int) -> None:
        """Fetch from each offset, one after the other."""
        frames = [self._frame(FetchPartition(offset, size)) for offset in offsets]
        answer, smallest = self._handlers.answer, size
        begun = time.thread_time_ns()
        for frame in frames:
            smallest = min(smallest, len(answer(frame)))
        self.times.setdefault(name, []).append((time.thread_time_ns() - begun) / len(frames) / 1e3)
        assert smallest > size // 2

    def _frame(self, asked: FetchPartition) -> memoryview:
        return memoryview(self._exchange.ask(FetchRequest(partitions={TAIL: asked}, max_wait_ms=0))[1])[SIZE_BYTES:]


def compared(benchmark: BenchmarkFixture, sides: Sequence[Side]) -> None:
    """Return what an answer costs without the check, and how many times as much with it: at least, and usually."""
    figures: dict[str, float] = {}
    one, other = sorted(sides, key=lambda side: side.is_checked)
    for name, plain in one.times.items():
        checked = other.times[name]
        figures |= {f"{name}, µs": min(plain), f"{name}, times as long": min(checked) / min(plain)}
        figures |= {
            f"{name}, median, µs": median(plain),
            f"{name}, median, times as long": median(checked) / median(plain),
        }
    told(benchmark, figures)


@pytest.mark.parametrize("size", [16 << 10, 1 << 20], ids=["16KiB", "1MiB"])
def bench_what_lies_there(benchmark: BenchmarkFixture, size: int) -> None:
    """All of it once, in order and at random, when nothing of it is known; and all once more."""
    total = FULL if benchmark.enabled else SMALL
    require_room(disk=total, memory=total)
    with changing_log("checked") as log:
        fill(log, total)
        sides = [Side(log, is_checked=False), Side(log, is_checked=True)]
        in_order = range(0, log.log_end_offset, size // BATCH_BYTES * RECORDS)
        shuffled = random.Random(1).sample(in_order, len(in_order))

        def both() -> None:
            for name, offsets in {"in order": in_order, "at random": shuffled}.items():
                for side in sides:
                    side.forget()
                    side.fetch(f"{name}, first", offsets, size)
                for side in sides:
                    side.fetch(f"{name}, again", offsets, size)
            sides.reverse()

        benchmark.pedantic(both, rounds=rounds(benchmark, ROUNDS))
    compared(benchmark, sides)


def bench_what_was_just_appended(benchmark: BenchmarkFixture) -> None:
    """Each batch as a consumer at the end of the log gets it."""
    batch = one_batch()
    count = TAIL_READS if benchmark.enabled else 2
    with changing_log("checked") as log:
        fill(log, SMALL)
        sides = [Side(log, is_checked=False), Side(log, is_checked=True)]
        for side in sides:
            side.forget()

        def both() -> None:
            for _ in range(count):
                offset = log.append(batch, leader_epoch=0).first_offset
                log.advance_high_watermark(log.log_end_offset)
                for side in sides:
                    side.fetch("appended", [offset], len(batch))
                sides.reverse()

        benchmark.pedantic(both, rounds=rounds(benchmark, ROUNDS))
    compared(benchmark, sides)
