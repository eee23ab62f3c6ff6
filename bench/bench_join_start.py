"""How soon a broker with many partitions is back in a real cluster after a clean stop: ours, and Kafka's beside it."""

import time
from statistics import median

import pytest
from confluent_kafka.admin import AdminClient
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_lead import KAFKA, told
from bench.joined_cluster import (
    LEADER,
    OUR_BROKER,
    SIDES,
    create_partitions,
    joined_cluster,
    moment_when,
    moment_when_unfenced,
)
from bench.measuring import is_measuring
from bench.produced import SECONDS
from tests.replication.cluster.node.joining.mixed_cluster import MixedCluster

MANY, FEW = 1_000, 10
ROUNDS = 3
SESSION_MS = 6_000
"""A broker that starts again is refused until its last session is over: that is waited for first."""


def bench_start_with_many_partitions(benchmark: BenchmarkFixture, request: pytest.FixtureRequest) -> None:
    """From the start of a process until clients are told of the broker, which is unfenced then."""
    count = MANY if benchmark.enabled else FEW
    taken: dict[str, list[float]] = {side: [] for side in SIDES}
    with joined_cluster(
        "starts", is_measured=is_measuring(request.config), session_ms=SESSION_MS, disk=2 << 30
    ) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap(LEADER)})
        for node in SIDES.values():
            create_partitions(admin, topic_of(node), [node], count)

        def both() -> None:
            for side, node in SIDES.items():
                taken[side].append(seconds_to_start(cluster, admin, node, count))

        benchmark.pedantic(both, rounds=ROUNDS if benchmark.enabled else 1)
    told(benchmark, {f"{side}, s": median(each) for side, each in taken.items()})
    told(benchmark, {"times as long as Kafka's": median(taken[OUR_BROKER]) / median(taken[KAFKA])})


def seconds_to_start(cluster: MixedCluster, admin: AdminClient, node: int, count: int) -> float:
    """Stop a broker that leads so many partitions in order, and start it again once its session is over."""
    moment_when(lambda: led(admin, node) == count, f"broker {node} leads {count} partitions")
    cluster.stop(node)
    time.sleep(SESSION_MS / 1_000)
    begun = time.perf_counter()
    cluster.start(node, wait=False)
    return moment_when_unfenced(cluster, node) - begun


def led(admin: AdminClient, node: int) -> int:
    """Return how many partitions of its own topic a broker leads by the metadata."""
    topic = topic_of(node)
    return sum(
        each.leader == node for each in admin.list_topics(topic, timeout=SECONDS).topics[topic].partitions.values()
    )


def topic_of(node: int) -> str:
    """Return the name of a topic that is on this broker alone."""
    return f"of-{node}"
