"""How long it takes until new partitions are served, from the request that makes them: Kafka's broker and ours in turn.

Both are processes in one cluster. What the controller takes is part of either figure.
"""

import time
from statistics import median

import pytest
from confluent_kafka.admin import AdminClient
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_lead import KAFKA, told
from bench.joined_cluster import LEADER, OUR_BROKER, SIDES, create_partitions, joined_cluster, moment_when
from bench.measuring import is_measuring
from logstore import TopicPartition
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.messages.list_offsets import LATEST, ListOffsetsRequest, OffsetQuestion
from tests.replication.cluster.node.joining.mixed_cluster import MixedCluster

MANY, FEW = 1_000, 10
ROUNDS = 5
SESSION_MS = 9_000


def bench_many_new_partitions(benchmark: BenchmarkFixture, request: pytest.FixtureRequest) -> None:
    """Until the one broker that has them tells the end of each log."""
    count = MANY if benchmark.enabled else FEW
    taken: dict[str, list[float]] = {side: [] for side in SIDES}
    with joined_cluster(
        "new-partitions", is_measured=is_measuring(request.config), session_ms=SESSION_MS, disk=2 << 30
    ) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap(LEADER)})

        def both() -> None:
            for side, node in SIDES.items():
                topic = f"new-{len(taken[side])}-of-{node}"
                taken[side].append(seconds_until_served(cluster, admin, node, topic, count))

        benchmark.pedantic(both, rounds=ROUNDS if benchmark.enabled else 1)
    told(benchmark, {f"{side}, s": median(each) for side, each in taken.items()})
    told(benchmark, {"times as fast as Kafka": median(taken[KAFKA]) / median(taken[OUR_BROKER])})


def seconds_until_served(cluster: MixedCluster, admin: AdminClient, node: int, topic: str, count: int) -> float:
    """Make a topic on this broker alone, and ask it until it leads all of that."""
    question = ListOffsetsRequest(
        partitions={TopicPartition(topic, number): OffsetQuestion(LATEST) for number in range(count)}
    )
    with Connection.open(cluster.bootstrap(node)) as connection:

        def is_served() -> bool:
            answers = connection.ask(question).partitions.values()
            return len(answers) == count and all(each.error is ErrorCode.NONE for each in answers)

        begun = time.perf_counter()
        create_partitions(admin, topic, [node], count)
        return moment_when(is_served, f"broker {node} leads {count} partitions") - begun
