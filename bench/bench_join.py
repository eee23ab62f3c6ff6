"""What a broker of ours is worth in a real cluster, as follower, in the ISR and as leader.

Kafka's broker 2 and ours take turns in each role, in one cluster, beside Kafka's broker 1.
"""

from collections.abc import Iterator
from functools import partial

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_lead import in_turn
from bench.joined_cluster import LEADER, OUR_BROKER, SIDES, joined_cluster
from bench.laggard import AHEAD, Laggard, catching_up_in_turn
from bench.measuring import is_measuring
from bench.produced import HANDED_OVER, Load, Throughput, create_topic, end_offset
from tests.replication.cluster.node.joining.mixed_cluster import MixedCluster

LOAD = Load(1_024, 16 << 10, acks="all")
ROUND_BYTES, BEHIND_BYTES = 4 << 20, 64 << 20
PATIENCE_MS = 60_000
"""Who stands still is not to be fenced, nor to leave the ISR."""


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[MixedCluster]:
    patient = {"replica.lag.time.max.ms": PATIENCE_MS, "broker.heartbeat.interval.ms": 500}
    with joined_cluster(
        "joined", is_measured=is_measuring(request.config), session_ms=PATIENCE_MS, disk=4 << 30, settings=patient
    ) as cluster:
        yield cluster


def bench_catching_up_with_a_real_leader(benchmark: BenchmarkFixture, cluster: MixedCluster) -> None:
    """A follower that has stood still, with its process, gets what Kafka's leader has taken meanwhile."""

    def laggard(node: int) -> Laggard:
        topic = f"followed-by-{node}"
        create_topic(cluster.bootstrap(LEADER), topic, [LEADER, node])
        leader, follower = (cluster.log_dir(each) / f"{topic}-0" for each in (LEADER, node))
        pause, resume = partial(cluster.pause, node), partial(cluster.resume, node)
        return Laggard(Throughput(cluster.bootstrap(LEADER), topic, AHEAD), leader, follower, pause, resume)

    size = BEHIND_BYTES if benchmark.enabled else AHEAD.record_bytes * HANDED_OVER
    catching_up_in_turn(benchmark, {side: laggard(node) for side, node in SIDES.items()}, OUR_BROKER, size)


def bench_acks_of_all_through_a_real_leader(benchmark: BenchmarkFixture, cluster: MixedCluster) -> None:
    """What Kafka's leader takes in batches of 16 KiB, each acknowledged once its only follower has it."""
    produce_to(benchmark, cluster, {side: [LEADER, node] for side, node in SIDES.items()}, "in-sync")


def bench_leading_a_real_follower(benchmark: BenchmarkFixture, cluster: MixedCluster) -> None:
    """What a leader takes in batches of 16 KiB, each acknowledged once Kafka's broker has it."""
    produce_to(benchmark, cluster, {side: [node, LEADER] for side, node in SIDES.items()}, "led")


def produce_to(benchmark: BenchmarkFixture, cluster: MixedCluster, replicas: dict[str, list[int]], name: str) -> None:
    topics = {side: f"{name}-{'-'.join(map(str, nodes))}" for side, nodes in replicas.items()}
    for side, nodes in replicas.items():
        create_topic(cluster.bootstrap(LEADER), topics[side], nodes)
    producers = {side: Throughput(cluster.bootstrap(LEADER), topic, LOAD) for side, topic in topics.items()}
    size = ROUND_BYTES if benchmark.enabled else LOAD.record_bytes
    in_turn(benchmark, {side: producer.produce for side, producer in producers.items()}, OUR_BROKER, size)
    for side, topic in topics.items():
        assert end_offset(cluster.bootstrap(LEADER), topic) == producers[side].records
