"""How fast metadata records become bytes and an image, and what a partition takes of its memory.

The targets: a log of 100,000 partitions replayed within 10 s, and 1 KB of memory a partition beyond its names.
"""

import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from logstore.log.log import Log
from replication.records.metadata.framing import decode, encode
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.loading import load_image
from replication.records.metadata.metadata_log import append_metadata
from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION, METADATA_VERSION_FEATURE
from replication.records.metadata.records import (
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)
from replication.records.metadata.snapshot import write_snapshot

PARTITIONS = 100_000
PARTITIONS_OF_A_TOPIC = 100
BROKERS = range(1, 31)
BATCH = 500
BYTES_A_PARTITION = 1_024
RECORDS = 1_000

TOPIC = UUID(int=7)
DIRECTORIES = {broker: UUID(int=1_000 + broker) for broker in BROKERS}
CHANGE = PartitionChangeRecord(partition_id=3, topic_id=TOPIC, isr=(1, 2), leader=2)


def measured(benchmark: BenchmarkFixture, full: int) -> int:
    """How many partitions there are: few where nothing is measured."""
    return min(full, 1_000) if benchmark.disabled else full


def cluster(partitions: int) -> Iterator[MetadataRecord]:
    """Topics with three replicas a partition, each of which an election has moved once."""
    chance = random.Random(partitions)
    yield FeatureLevelRecord(name=METADATA_VERSION_FEATURE, feature_level=LATEST_METADATA_VERSION)
    for first in range(0, partitions, PARTITIONS_OF_A_TOPIC):
        topic_id = UUID(int=chance.getrandbits(128))
        yield TopicRecord(name=f"topic-{first // PARTITIONS_OF_A_TOPIC}", topic_id=topic_id)
        for partition in range(min(PARTITIONS_OF_A_TOPIC, partitions - first)):
            replicas = tuple(chance.sample(BROKERS, 3))
            yield PartitionRecord(
                partition_id=partition,
                topic_id=topic_id,
                replicas=replicas,
                isr=replicas,
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=tuple(DIRECTORIES[replica] for replica in replicas),
            )
            yield PartitionChangeRecord(partition_id=partition, topic_id=topic_id, isr=replicas[1:], leader=replicas[1])


def written(directory: Path, partitions: int) -> Path:
    """Write the log of such a cluster."""
    records = list(cluster(partitions))
    with Log.open(directory) as log:
        for start in range(0, len(records), BATCH):
            append_metadata(log, records[start : start + BATCH], leader_epoch=1)
    return directory


def bench_encoding_of_partition_changes(benchmark: BenchmarkFixture) -> None:
    benchmark.extra_info["records"] = RECORDS
    values = benchmark(lambda: [encode(CHANGE) for _ in range(RECORDS)])
    assert decode(values[-1]) == CHANGE


def bench_decoding_of_partition_changes(benchmark: BenchmarkFixture) -> None:
    benchmark.extra_info["records"] = RECORDS
    value = encode(CHANGE)
    records = benchmark(lambda: [decode(value) for _ in range(RECORDS)])
    assert records[-1] == CHANGE


def bench_replay_of_a_log_from_disk(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    partitions = measured(benchmark, PARTITIONS)
    benchmark.extra_info["partitions"] = partitions
    directory = written(tmp_path / "__cluster_metadata-0", partitions)
    loaded = benchmark.pedantic(load_image, args=(directory,), rounds=1 if benchmark.disabled else 3)
    assert sum(1 for _ in loaded.image.topics.partitions()) == partitions


def bench_loading_of_a_snapshot(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    partitions = measured(benchmark, PARTITIONS)
    benchmark.extra_info["partitions"] = partitions
    image = ClusterImage()
    image.replay_all(cluster(partitions))
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    write_snapshot(directory, image, end_offset=9, epoch=1, last_contained_log_timestamp=1)
    loaded = benchmark.pedantic(load_image, args=(directory,), rounds=1 if benchmark.disabled else 3)
    assert loaded.image == image


def bench_writing_of_a_snapshot(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    partitions = measured(benchmark, PARTITIONS)
    image = ClusterImage()
    image.replay_all(cluster(partitions))
    snapshot = benchmark.pedantic(
        lambda: write_snapshot(tmp_path, image, end_offset=9, epoch=1, last_contained_log_timestamp=1),
        rounds=1 if benchmark.disabled else 3,
    )
    benchmark.extra_info |= {"partitions": partitions, "bytes": snapshot.path.stat().st_size}
    assert snapshot.end_offset == 9


@pytest.mark.benchmark(disable_gc=True)
def bench_memory_of_an_image(benchmark: BenchmarkFixture) -> None:
    """What is measured is bytes, which the time tells nothing of."""
    partitions = measured(benchmark, PARTITIONS)
    values = [encode(record) for record in cluster(partitions)]
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    image = ClusterImage()
    benchmark.pedantic(lambda: image.replay_all(map(decode, values)), rounds=1)
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    benchmark.extra_info["bytes_a_partition"] = used // partitions
    assert used < BYTES_A_PARTITION * partitions
