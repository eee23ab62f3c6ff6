"""How fast a mirror copies a real broker's partition, beside a second broker that catches up with the same one.

A topic of 1 GiB (with --benchmark-enable; else 8 MiB) in batches of 16 KiB lies on broker 1. The mirror runs as
`epochlog mirror --once`; Kafka's follower is broker 2, which gets a replica by reassignment. The time is that from the
first byte to the last in the copy's files: neither start-up counts, nor the controller's decisions.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pytest_benchmark.fixture import BenchmarkFixture

from bench.measuring import is_measuring
from bench.replica import RECORDS, one_batch
from bench.room import require_room
from logstore.directory.log_directory import LogDirectory
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.log_config import LogConfig
from logstore.topic_partition import TopicPartition
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import BENCHMARKED

BUILD = Path(__file__).parent.parent / "build/bench/mirror"
FULL, SMALL = 1 << 30, 8 << 20
TOPIC = TopicPartition("bench", 0)
GROUP = 64
COPIES = 3
"""On the leader, in the mirror and on the follower."""
SECONDS = 300
POLL_SECONDS = 0.005
SETTINGS = {"log.retention.ms": -1, "log.segment.bytes": 1 << 28, "log.index.size.max.bytes": 10 << 20}
"""As on a broker for real use, the number of fetchers too: one.

With the small indexes of the other tests Kafka's follower fails: what it appends at once overfills one.
"""


def fill(root: Path, size: int) -> int:
    """Put batches of 16 KiB in the place of an empty partition; return how many bytes those are."""
    topic_id = PartitionMetadata.read(root / str(TOPIC) / PARTITION_METADATA_NAME).topic_id
    shutil.rmtree(root / str(TOPIC))
    content = [bytearray(one_batch()) for _ in range(GROUP)]
    groups = size // (GROUP * len(content[0]))
    with LogDirectory.open(root, LogConfig(segment_bytes=1 << 28, retention_ms=-1)) as directory:
        log = directory.create(TOPIC, topic_id=topic_id)
        for group in range(groups):
            for number, batch in enumerate(content):
                batch[:8] = ((group * GROUP + number) * RECORDS).to_bytes(8)
            log.append_batches(b"".join(content))
        log.update_high_watermark(log.log_end_offset)
        return log.size


@dataclass(frozen=True)
class Source:
    """The cluster, and how many bytes of log the partition has."""

    cluster: KafkaCluster
    bytes: int


@pytest.fixture(scope="module")
def source(request: pytest.FixtureRequest) -> Iterator[Source]:
    measured = is_measuring(request.config)
    size = FULL if measured else SMALL
    require_room(disk=COPIES * size, memory=COPIES * size)
    shutil.rmtree(BUILD, ignore_errors=True)
    java_options = () if measured else None
    cluster = KafkaCluster(BUILD / "kafka", BENCHMARKED, brokers=2, settings=SETTINGS, java_options=java_options)
    with cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
        new = NewTopic(TOPIC.topic, num_partitions=1, replica_assignment=[[1]])
        admin.create_topics([new])[TOPIC.topic].result(30)
        wait_for((cluster.log_dir(1) / str(TOPIC) / PARTITION_METADATA_NAME).exists)
        cluster.stop(1)
        total = fill(cluster.log_dir(1), size)
        cluster.start(1)
        yield Source(cluster, total)
    shutil.rmtree(BUILD)


def wait_for(condition: object) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(POLL_SECONDS)


def copied(directory: Path) -> int:
    """Bytes of a partition's `.log` files."""
    try:
        return sum(entry.stat().st_size for entry in os.scandir(directory) if entry.name.endswith(".log"))
    except FileNotFoundError:
        return 0


def seconds_to_copy(directory: Path, size: int) -> float:
    """From the first bytes to the last, counting only what came after the first look that found some."""
    wait_for(lambda: copied(directory) > 0)
    first, begun = copied(directory), time.perf_counter()
    wait_for(lambda: copied(directory) >= size)
    return (time.perf_counter() - begun) * size / max(size - first, 1)


def mirror(source: Source, number: int) -> float:
    root = BUILD / f"copy-{number}"
    words = ["mirror", "--bootstrap", source.cluster.bootstrap(1), "--topics", TOPIC.topic, "--output", root, "--once"]
    command = [sys.executable, "-m", "replication.cli", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        seconds = seconds_to_copy(root / str(TOPIC), source.bytes)
        assert process.wait(SECONDS) == 0
    shutil.rmtree(root)
    return seconds


def follow(source: Source) -> float:
    directory = source.cluster.log_dir(2) / str(TOPIC)
    source.cluster.reassign(*TOPIC, [1, 2])
    seconds = seconds_to_copy(directory, source.bytes)
    source.cluster.reassign(*TOPIC, [1])
    wait_for(lambda: not directory.exists())
    return seconds


def bench_mirror_beside_a_real_follower(benchmark: BenchmarkFixture, source: Source) -> None:
    """In turn, so that both see the same machine. The time of pytest-benchmark is that of both, start-ups included."""
    ours: list[float] = []
    theirs: list[float] = []

    def both() -> None:
        ours.append(mirror(source, len(ours)))
        theirs.append(follow(source))

    benchmark.pedantic(both, rounds=5 if benchmark.enabled else 1)
    for name, taken in (("mirror", ours), ("Kafka's follower", theirs)):
        benchmark.extra_info[f"{name}, MB/s"] = sorted(round(source.bytes / seconds / 1e6) for seconds in taken)
    benchmark.extra_info["times as fast as Kafka's follower"] = [
        round(their / our, 2) for our, their in zip(ours, theirs, strict=True)
    ]
    if benchmark.enabled:
        print(f"\n{benchmark.extra_info}")
