"""What replicas cost: acks=all over three brokers, becoming the leader of many partitions, and following idle ones."""

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_lead import KAFKA, SETTINGS, in_turn, told
from bench.brokers_of_ours import BROKERS
from bench.laggard import AHEAD, Laggard, catching_up_in_turn
from bench.measuring import is_measuring
from bench.produced import HANDED_OVER, SECONDS, Load, Throughput, create_topic, end_offset
from bench.room import BUILD, require_room
from replication.cluster.broker.replicas.replica_manager import ReplicaManager
from replication.testing.cluster import Cluster
from replication.testing.links import Links
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import BENCHMARKED

OURS = "three of ours"
LOAD = Load(1_024, 16 << 10, acks="all")
ROUND_BYTES = 4 << 20
BEHIND_BYTES = 64 << 20
PATIENCE_MS = 60_000
UNHURRIED_MS = 10_000
"""In which the logs of many partitions are made on a busy machine, while nobody is fenced and all stay in sync."""
FOLLOWER = 2
TOPIC = "replicated"
MANY, FEW = 1_000, 10
IDLE_SECONDS, SHORT_SECONDS = 8.0, 1.5
SETTLING_SECONDS = 2.0
LEADER, FOLLOWERS = 1, (2, 3)


@contextmanager
def brokers_of_ours(directory: Path) -> Iterator[str]:
    """Run them, and give where clients reach them."""
    command = [sys.executable, "-m", "bench.brokers_of_ours", str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        bootstrap = process.stdout.readline().strip()
        try:
            assert bootstrap, f"they ended with {process.wait(SECONDS)}"
            yield bootstrap
        finally:
            process.stdin.close()
            assert process.wait(SECONDS) == 0


def bench_producing_to_all_in_sync(benchmark: BenchmarkFixture, request: pytest.FixtureRequest) -> None:
    """Records of 1 KiB in batches of 16 KiB, each acknowledged once three brokers have it, a process each."""
    measured = is_measuring(request.config)
    build = BUILD / "replicated"
    require_room(disk=1 << 30, memory=4 << 30)
    shutil.rmtree(build, ignore_errors=True)
    java_options = ("-Xms512m", "-Xmx512m") if measured else None
    with (
        KafkaCluster(
            build / "kafka", BENCHMARKED, brokers=BROKERS, settings=SETTINGS, java_options=java_options
        ) as cluster,
        brokers_of_ours(build / "ours") as ours,
    ):
        sides = {KAFKA: cluster.bootstrap(), OURS: ours}
        for bootstrap in sides.values():
            create_topic(bootstrap, TOPIC, BROKERS)
        producers = {side: Throughput(bootstrap, TOPIC, LOAD) for side, bootstrap in sides.items()}
        size = ROUND_BYTES if measured else LOAD.record_bytes
        in_turn(benchmark, {side: producer.produce for side, producer in producers.items()}, OURS, size)
        for side, bootstrap in sides.items():
            assert end_offset(bootstrap, TOPIC) == producers[side].records
    shutil.rmtree(build)


def bench_catching_up(benchmark: BenchmarkFixture, request: pytest.FixtureRequest) -> None:
    """A follower that has stood still, with its process, gets what its leader has taken meanwhile."""
    measured = is_measuring(request.config)
    build = BUILD / "behind"
    require_room(disk=3 << 30, memory=4 << 30)
    shutil.rmtree(build, ignore_errors=True)
    java_options = ("-Xms512m", "-Xmx512m") if measured else None
    patient = {"broker.session.timeout.ms": PATIENCE_MS, "replica.lag.time.max.ms": PATIENCE_MS}
    size = BEHIND_BYTES if measured else AHEAD.record_bytes * HANDED_OVER
    with (
        KafkaCluster(
            build / "kafka",
            BENCHMARKED,
            brokers=2,
            settings={**SETTINGS, **patient},
            controller_settings=patient,
            java_options=java_options,
        ) as theirs,
        Cluster(
            2,
            directory=build / "ours",
            session_timeout_ms=PATIENCE_MS,
            replica_lag_time_max_ms=PATIENCE_MS,
            processes=True,
        ) as ours,
    ):

        def laggard(bootstrap: str, roots: list[Path], processes: KafkaCluster | Links) -> Laggard:
            create_topic(bootstrap, TOPIC, [1, FOLLOWER])
            leader, follower = (root / f"{TOPIC}-0" for root in roots)
            pause, resume = (partial(each, FOLLOWER) for each in (processes.pause, processes.resume))
            return Laggard(Throughput(bootstrap, TOPIC, AHEAD), leader, follower, pause, resume)

        sides = {
            KAFKA: laggard(theirs.bootstrap(1), [theirs.log_dir(1), theirs.log_dir(FOLLOWER)], theirs),
            OURS: laggard(str(ours.address(1)), [ours.root(1), ours.root(FOLLOWER)], ours.links),
        }
        catching_up_in_turn(benchmark, sides, OURS, size)
    shutil.rmtree(build)


def bench_becoming_leader(benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1,000 partitions that were followed, whose leader stops in order."""
    count = MANY if benchmark.enabled else FEW
    applied: list[float] = []
    apply = ReplicaManager.apply

    def timed(self: ReplicaManager, image: object, changes: object) -> None:
        begun = time.perf_counter()
        apply(self, image, changes)  # type: ignore[arg-type]  as it was called
        applied.append(time.perf_counter() - begun)

    with Cluster(2, session_timeout_ms=UNHURRIED_MS, replica_lag_time_max_ms=UNHURRIED_MS) as cluster:
        cluster.create_topic(TOPIC, replicas=[(1, 2)] * count)

        def stop_leader() -> None:
            monkeypatch.setattr(ReplicaManager, "apply", timed)
            cluster.stop(1)
            for number in range(count):
                assert cluster.wait_for_leader(TOPIC, number) == 2

        benchmark.pedantic(stop_leader, rounds=1)
    assert applied
    told(benchmark, {"s": sum(applied)})


def bench_following_idle_partitions(benchmark: BenchmarkFixture) -> None:
    """1,000 partitions of one leader, of which two brokers have replicas; nothing is produced."""
    count = MANY if benchmark.enabled else FEW
    with Cluster(BROKERS, replica_lag_time_max_ms=30_000) as cluster:
        cluster.create_topic(TOPIC, replicas=[(LEADER, *FOLLOWERS)] * count)
        time.sleep(SETTLING_SECONDS if benchmark.enabled else 0)
        before = processor_seconds()
        begun = time.perf_counter()
        benchmark.pedantic(time.sleep, args=(IDLE_SECONDS if benchmark.enabled else SHORT_SECONDS,), rounds=1)
        passed = time.perf_counter() - begun
        spent = {name: after - before.get(name, 0.0) for name, after in processor_seconds().items()}
        assert all(cluster.partition(TOPIC, number).isr == (LEADER, *FOLLOWERS) for number in range(count))
    fetching = sum(seconds for name, seconds in spent.items() if "fetch" in name)

    assert fetching > 0
    answering = sum(seconds for name, seconds in spent.items() if "PLAINTEXT" in name)
    told(
        benchmark,
        {
            "a follower, % of a core": fetching / len(FOLLOWERS) / passed * 100,
            "the leader, % of a core": answering / passed * 100,
            "all, % of a core": sum(spent.values()) / passed * 100,
        },
    )


def processor_seconds() -> dict[str, float]:
    """What each thread of this process has used, by its name."""
    found = {}
    for thread in threading.enumerate():
        statistics = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text()
        found[f"{thread.name} {thread.native_id}"] = int(statistics.split()[0]) / 1e9
    return found
