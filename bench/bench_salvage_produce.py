"""How fast salvaged records are written to a real broker, beside confluent-kafka's own producer with the same records.

The peer has them in memory, ready to be sent: key, value, time, and a header as ours adds it; its transactions are as
large as ours. Ours reads the copies, twice, and looks for what is there. Both take turns; the ratio is that of the
medians.
"""

import statistics
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_salvage import LITTLE, copies
from bench.measuring import is_measuring
from replication.copies.planning.failures import stop
from replication.copies.salvage.cluster.partition_writing import header_values
from replication.copies.salvage.held.provenance import HEADER
from replication.salvage import SalvagePlan, TransactionSize, plan_salvage, produce
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import BENCHMARKED
from tests.replication.copies.salvage.cluster.target import Target

SIZE = 4 << 20
"""Of each partition's records, of which there are 16."""
VALUES = 128, 1_024
SETTINGS = {"log.retention.ms": -1, "log.index.size.max.bytes": 10 << 20}
ROUNDS = 3

Prepared = list[tuple[int, list[tuple[bytes | None, bytes | None, int, list[tuple[str, str | bytes | None]]]]]]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Target]:
    java_options = () if is_measuring(request.config) else None
    directory = tmp_path_factory.mktemp("broker")
    with KafkaCluster(directory, BENCHMARKED, settings=SETTINGS, java_options=java_options) as cluster:
        yield Target(cluster.bootstrap())


@pytest.mark.parametrize("value", VALUES)
def bench_salvage_into_a_cluster(benchmark: BenchmarkFixture, target: Target, value: int) -> None:
    plan = plan_salvage(copies(LITTLE if benchmark.disabled else SIZE, value, "none"), "kept")
    records = prepared(plan)
    count = sum(len(each) for _, each in records)
    peers: list[float] = []

    def setup() -> tuple[tuple[str], dict[str, object]]:
        name = f"{value}-{len(peers)}"
        peers.append(sent(target, records, target.create(f"peer-{name}", partitions=len(records))))
        return (target.create(f"ours-{name}", partitions=len(records)),), {}

    def ours(topic: str) -> None:
        assert produce(plan, target.client, to_topic=topic).written == count

    benchmark.pedantic(ours, setup=setup, rounds=1 if benchmark.disabled else ROUNDS)
    if benchmark.stats is not None:
        seconds = benchmark.stats.stats.median
        benchmark.extra_info["records/s"] = round(count / seconds)
        benchmark.extra_info["peer, records/s"] = round(count / statistics.median(peers))
        benchmark.extra_info["of the peer's speed"] = round(statistics.median(peers) / seconds, 2)


def prepared(plan: SalvagePlan) -> Prepared:
    """What the peer sends, partition by partition."""
    found: Prepared = []
    for salvage in plan.salvages():
        messages = [
            (record.value, record.key, record.timestamp, [(HEADER, header)])
            for block in salvage.blocks(stop)
            for record, header in zip(block.objects(), header_values(block, None), strict=True)
        ]
        found.append((salvage.topic_partition.partition, messages))
    return found


def sent(target: Target, records: Prepared, topic: str) -> float:
    """Send them with the settings of ours, and return the seconds that it takes."""
    producer = Producer(
        target.client
        | {
            "transactional.id": "peer",
            "linger.ms": 20,
            "queue.buffering.max.messages": 0,
            "queue.buffering.max.kbytes": 256 << 10,
        }
    )
    begun = time.perf_counter()
    producer.init_transactions(60)
    for partition, messages in records:
        for first in range(0, len(messages), TransactionSize().records):
            producer.begin_transaction()
            for value, key, timestamp, headers in messages[first : first + TransactionSize().records]:
                producer.produce(topic, value, key, partition, timestamp=timestamp, headers=headers)
            producer.commit_transaction(60)
    return time.perf_counter() - begun
