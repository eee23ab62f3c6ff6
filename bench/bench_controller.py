"""How fast a controller decides, what a broker's end costs it, and what a partition takes of its memory."""

import gc
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from logstore import Log, LogConfig
from replication.cluster.controller.controller import Controller, ControllerSettings
from replication.cluster.controller.topics.topics import NewTopic
from replication.records.metadata.framing import encode
from replication.records.metadata.metadata_log import append_metadata
from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION, METADATA_VERSION_FEATURE
from replication.records.metadata.records import FeatureLevelRecord
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.wire.messages.broker_registration import BrokerRegistrationRequest
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import BENCHMARKED

PARTITIONS = 10_000
PARTITIONS_OF_A_TOPIC = 100
CLUSTER = "measured"
LONG_AFTER = 10**6
WARM_UP = 200_000
MAX_BYTES_A_PARTITION = 1024


def measured(benchmark: BenchmarkFixture, full: int) -> int:
    """How many partitions there are: few where nothing is measured."""
    return min(full, 200) if benchmark.disabled else full


def controller_of(partitions: int) -> Controller:
    """A controller of three brokers, all of them in sync, the first of which leads everything."""
    ids: Iterator[int] = iter(range(1 << 120, 1 << 121))
    controller = Controller(CLUSTER, ControllerSettings(), random=Random(0), new_topic_id=lambda: UUID(int=next(ids)))
    controller.replay([FeatureLevelRecord(name=METADATA_VERSION_FEATURE, feature_level=LATEST_METADATA_VERSION)])
    for broker_id in (1, 2, 3):
        start_broker(controller, broker_id)
    for first in range(0, partitions, PARTITIONS_OF_A_TOPIC):
        replicas = dict.fromkeys(range(min(PARTITIONS_OF_A_TOPIC, partitions - first)), (1, 2, 3))
        controller.appended(controller.create_topics([NewTopic(f"t{first}", assignments=replicas)]))
    return controller


def start_broker(controller: Controller, broker_id: int) -> None:
    request = BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=CLUSTER,
        incarnation_id=UUID(int=broker_id),
        listeners=(),
        features={METADATA_VERSION_FEATURE: range(7, LATEST_METADATA_VERSION + 1)},
        log_dirs=(UUID(int=1000 + broker_id),),
    )
    epoch = controller.appended(controller.register_broker(request, 0))
    heartbeat = BrokerHeartbeatRequest(
        broker_id=broker_id, broker_epoch=epoch, current_metadata_offset=controller.next_offset
    )
    controller.appended(controller.heartbeat(heartbeat, 0))


def bench_partition_changes_with_their_records(benchmark: BenchmarkFixture) -> None:
    """From the state to the bytes of the records: at least 40,000 a second."""
    controller = controller_of(measured(benchmark, PARTITIONS))
    broker = controller.cluster.image.brokers[1]
    request = BrokerHeartbeatRequest(
        broker_id=1, broker_epoch=broker.epoch, current_metadata_offset=controller.next_offset, want_fence=True
    )

    def decide() -> list[bytes]:
        decision = controller.heartbeat(request, 0)
        controller.heartbeats.touch(1, fenced=False, metadata_offset=0)  # nothing was appended
        return [encode(record) for record in decision.records]

    gc.freeze()
    values = benchmark(decide)
    gc.unfreeze()
    assert len(values) == measured(benchmark, PARTITIONS) + 1
    benchmark.extra_info["partition changes"] = len(values)


def bench_partition_changes_by_kafka(benchmark: BenchmarkFixture) -> None:
    """As many by Kafka's own builder, warm, with the bytes of their records; its own time is in `extra_info`."""
    changes = measured(benchmark, PARTITIONS)
    with JavaProgram(BENCHMARKED, "PartitionChangeTimer", measured=True) as kafka:
        kafka.ask(str(WARM_UP if benchmark.enabled else 1))
        (nanoseconds,) = benchmark(kafka.ask, str(changes))
    benchmark.extra_info["partition changes"] = changes
    assert int(nanoseconds) > 0
    benchmark.extra_info["processor ms"] = round(int(nanoseconds) / 1e6, 1)


def bench_fencing_a_broker_to_records_on_disk(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """A broker that leads 10,000 partitions is gone: decided, encoded, appended, flushed within 0.5 s."""
    partitions = measured(benchmark, PARTITIONS)
    rounds = iter(range(1000))

    def setup() -> tuple[tuple[Controller, Log], dict[str, object]]:
        directory = tmp_path / str(next(rounds)) / "__cluster_metadata-0"
        directory.mkdir(parents=True)
        return (controller_of(partitions), Log.open(directory, LogConfig(max_message_bytes=64 << 20))), {}

    def fence(controller: Controller, log: Log) -> None:
        decision = controller.fence_one_stale_broker(LONG_AFTER)
        assert len(decision.records) == partitions + 1
        append_metadata(log, decision.records, leader_epoch=1)
        log.flush()
        controller.appended(decision)
        log.close()

    benchmark.pedantic(fence, setup=setup, rounds=1 if benchmark.disabled else 5)


def bench_replaying_partition_changes(benchmark: BenchmarkFixture) -> None:
    controller = controller_of(measured(benchmark, PARTITIONS))
    decision = controller.fence_one_stale_broker(LONG_AFTER)
    before = list(controller.cluster.image.topics.partitions())
    assert len(before) == len(decision.records) - 1
    assert all(state.leader == 1 for _, _, state in before)

    def replay() -> None:
        controller.replay(decision.records)

    benchmark.extra_info["records"] = len(decision.records)
    benchmark.pedantic(replay, rounds=1 if benchmark.disabled else 5)
    assert all(state.leader != 1 for _, _, state in controller.cluster.image.topics.partitions())


@pytest.mark.parametrize("full", [PARTITIONS])
def bench_memory_of_a_partition(benchmark: BenchmarkFixture, full: int) -> None:
    """State and index: at most 1 KiB a partition."""
    partitions = measured(benchmark, full)
    tracemalloc.start()
    empty = controller_of(0)
    gc.collect()
    without = tracemalloc.get_traced_memory()[0]
    controller = benchmark.pedantic(controller_of, args=(partitions,), rounds=1)
    gc.collect()
    each = (tracemalloc.get_traced_memory()[0] - without) / partitions
    tracemalloc.stop()
    assert len(controller.cluster.image.topics) > len(empty.cluster.image.topics)
    assert each <= MAX_BYTES_A_PARTITION
    benchmark.extra_info["bytes a partition"] = round(each)
