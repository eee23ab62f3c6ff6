"""What a Produce of one partition costs a broker's processor beyond the append.

All in one process: from the bytes of a request to those of its answer, without a socket; in turn with appends of the
same batch to another log. Few rounds without --benchmark-enable.
"""

import gc
import shutil
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from uuid import UUID

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_serve_requests import Handlers, rounds, told
from bench.replica import one_batch
from bench.room import BUILD
from logstore import Log, LogConfig, TopicPartition
from logstore.warming.warm import warm
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.writing_apis import writing_apis
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import PartitionRecord, TopicRecord
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import IsrChange
from replication.wire.messages.produce import ProduceRequest
from tests.logstore.batches import batch, record

NODE = 1
TOPIC, ALONE = TopicPartition("written", 0), TopicPartition("alone", 0)
TOPIC_ID = UUID(int=7)
SMALL_BATCH = batch(records=[record(key=b"key", value=bytes(1_000))], base_timestamp=1_000, max_timestamp=1_000)


class _NoChanges:
    def ask(self, change: IsrChange) -> None:
        pass


@pytest.fixture
def written(benchmark: BenchmarkFixture) -> Iterator[tuple[Handlers, Log]]:
    """A broker that leads one partition, and a log beside it."""
    directory = BUILD / "produce"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    if benchmark.enabled:
        warm()
    config = LogConfig(retention_ms=-1, segment_ms=2**62)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory)
        log, alone = (stack.enter_context(Log.open(directory / str(each), config)) for each in (TOPIC, ALONE))
        state = PartitionRecord(
            partition_id=0,
            topic_id=TOPIC_ID,
            replicas=(NODE,),
            isr=(NODE,),
            leader=NODE,
            leader_epoch=0,
            partition_epoch=0,
        )
        image = ClusterImage()
        image.replay_all([TopicRecord(name=TOPIC.topic, topic_id=TOPIC_ID), state])
        led = LedPartition(
            TOPIC,
            TOPIC_ID,
            log,
            PartitionRegistration.of(state),
            broker_id=NODE,
            broker_of=image.brokers.get,
            isr_changes=_NoChanges(),
        )
        topic_id = image.topics.by_name[TOPIC.topic].id
        partitions = HostedPartitions({TOPIC: HostedPartition(log, led.leader_epoch, topic_id=topic_id, led=led)})
        yield Handlers(writing_apis(partitions, KnownCluster("bench", NODE, lambda: image))), alone


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("size", ["16KiB", "1KB"])
def bench_produce_of_one_partition(
    benchmark: BenchmarkFixture, written: tuple[Handlers, Log], size: str, acks: int
) -> None:
    handlers, alone = written
    records = one_batch() if size == "16KiB" else SMALL_BATCH
    request = ProduceRequest(partitions={TOPIC: records}, acks=acks, topic_ids={TOPIC.topic: TOPIC_ID})
    frame = handlers.frame(request)
    appends: list[float] = []
    answers: list[float] = []
    last: list[bytes] = []

    def both() -> None:
        begun = time.thread_time()
        alone.append(records, leader_epoch=0)
        alone.advance_high_watermark(alone.log_end_offset)
        appended = time.thread_time()
        data = handlers.answer(frame)
        answers.append(time.thread_time() - appended)
        appends.append(appended - begun)
        last[:] = [data]

    gc.collect()
    benchmark.pedantic(both, rounds=rounds(benchmark, 5_000))
    ((_, answer),) = handlers.read(last[0]).partitions.items()
    assert (answer.error, answer.log_start_offset) == (ErrorCode.NONE, 0)
    append, whole = statistics.median(appends) * 1e6, statistics.median(answers) * 1e6
    told(benchmark, {"µs of processor time beyond the append": whole - append, "µs, append": append})
