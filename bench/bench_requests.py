"""What a broker's answers cost its processor: reading the request, answering and writing, without a socket.

With --benchmark-enable there are 1,000 partitions, else a hundred.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree
from statistics import median
from typing import Any
from uuid import UUID

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from logstore import Isolation, Log, LogConfig, TopicPartition
from logstore.segment.open_files import OpenFiles
from replication.broker.partitions.hosted_partition import HostedPartition
from replication.broker.partitions.hosted_partitions import HostedPartitions
from replication.broker.requests.known_cluster import KnownCluster
from replication.broker.requests.reading_apis import reading_apis
from replication.metadata.image import ClusterImage
from replication.metadata.records import PartitionRecord, TopicRecord
from replication.protocol.messages import fetch, offset_for_leader_epoch
from replication.protocol.messages.apis import api_with
from replication.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse
from replication.protocol.messages.offset_for_leader_epoch import EpochQuestion, OffsetForLeaderEpochRequest
from replication.server.call import Call, Caller
from replication.server.served_api import ServedApis

BUILD = Path(__file__).parent.parent / "build/bench/requests"
TOPIC, TOPIC_ID = "orders", UUID(int=7)
EPOCH = 5
ROUNDS = 200
NEWEST_FETCH, NEWEST_EPOCHS = 18, 4
UNIT = "us of processor time"


class Brokers:
    """Leads partitions that hold a record each."""

    def __init__(self, count: int) -> None:
        self.partitions = HostedPartitions()
        image = ClusterImage()
        image.replay(TopicRecord(name=TOPIC, topic_id=TOPIC_ID))
        files = OpenFiles(100)
        for number in range(count):
            image.replay(
                PartitionRecord(
                    partition_id=number,
                    topic_id=TOPIC_ID,
                    replicas=(1,),
                    isr=(1,),
                    leader=1,
                    leader_epoch=EPOCH,
                    partition_epoch=0,
                )
            )
            log = Log.open(BUILD / f"{TOPIC}-{number}", LogConfig(retention_ms=-1), open_files=files)
            log.append([b"x"], leader_epoch=EPOCH)
            log.advance_high_watermark(1)
            self.partitions[TopicPartition(TOPIC, number)] = HostedPartition(log, EPOCH, topic_id=TOPIC_ID)
        self.log: Any = self.partitions[TopicPartition(TOPIC, 0)].log
        self.apis: ServedApis = reading_apis(self.partitions, KnownCluster("bench", 1, lambda: image))

    def asked(self) -> dict[TopicPartition, FetchPartition]:
        """All partitions, at their ends."""
        return {each: FetchPartition(1, 1 << 20, EPOCH) for each in self.partitions}

    def exchange(self, key: int, version: int, request: Any) -> tuple[Callable[[], Any], Callable[[], None]]:
        """Return what answers a request, and the same from bytes to bytes."""
        api = api_with(key)
        assert api is not None
        body = api.request.write(request, version)
        call = Call(version, Caller("127.0.0.1"))
        answer = self.apis[key].answer

        def whole() -> None:
            api.response.write(answer(api.request.read(body, version), call), version)

        return lambda: answer(request, call), whole

    def close(self) -> None:
        """Close the logs."""
        for hosted in self.partitions.values():
            assert isinstance(hosted.log, Log)
            hosted.log.abandon()


@pytest.fixture
def brokers(benchmark: BenchmarkFixture) -> Iterator[Brokers]:
    rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    made = Brokers(100 if benchmark.disabled else 1_000)
    yield made
    made.close()
    rmtree(BUILD)


def spent(call: Callable[[], object]) -> float:
    """Microseconds of this process's processor time."""
    begun = time.process_time_ns()
    call()
    return (time.process_time_ns() - begun) / 1e3


def bench_full_fetch_of_idle_partitions(benchmark: BenchmarkFixture, brokers: Brokers) -> None:
    """A full fetch of 1,000 idle partitions; the target is 2 ms from bytes to bytes."""
    request = FetchRequest(partitions=brokers.asked(), topic_ids={TOPIC: TOPIC_ID}, max_wait_ms=0)
    answer, whole = brokers.exchange(fetch.API_KEY, NEWEST_FETCH, request)
    assert len(answer().partitions) == len(brokers.partitions)
    benchmark.extra_info[UNIT] = round(median(spent(whole) for _ in range(ROUNDS)))
    benchmark(whole)


def bench_epochs_of_partitions(benchmark: BenchmarkFixture, brokers: Brokers) -> None:
    """Where an epoch of 1,000 partitions ends; the target is 2 ms from bytes to bytes."""
    request = OffsetForLeaderEpochRequest(
        partitions=dict.fromkeys(brokers.partitions, EpochQuestion(EPOCH, EPOCH)), replica_id=2
    )
    _, whole = brokers.exchange(offset_for_leader_epoch.API_KEY, NEWEST_EPOCHS, request)
    benchmark.extra_info[UNIT] = round(median(spent(whole) for _ in range(ROUNDS)))
    benchmark(whole)


def bench_incremental_fetch_of_an_idle_session(benchmark: BenchmarkFixture, brokers: Brokers) -> None:
    """A fetch of a session of 1,000 partitions in which nothing happens; the target is 60 us from bytes to bytes."""
    first = FetchRequest(partitions=brokers.asked(), topic_ids={TOPIC: TOPIC_ID}, max_wait_ms=0, session_epoch=0)
    answer, _ = brokers.exchange(fetch.API_KEY, NEWEST_FETCH, first)
    opened: FetchResponse = answer()
    epochs = iter(range(1, 1 << 30))

    def fetch_more() -> float:
        request = FetchRequest(partitions={}, max_wait_ms=0, session_id=opened.session_id, session_epoch=next(epochs))
        _, whole = brokers.exchange(fetch.API_KEY, NEWEST_FETCH, request)
        return spent(whole)

    fetch_more()  # the first looks at each partition
    benchmark.extra_info[UNIT] = round(median(fetch_more() for _ in range(ROUNDS)), 1)
    benchmark(fetch_more)


def bench_fetch_after_an_append(benchmark: BenchmarkFixture, brokers: Brokers) -> None:
    """16 KiB that were just appended to one partition; the log's own read is told beside it."""
    log, partition = brokers.log, TopicPartition(TOPIC, 0)

    def append() -> int:
        offset: int = log.log_end_offset
        log.append([bytes(16_384)], leader_epoch=EPOCH)
        log.advance_high_watermark(offset + 1)
        return offset

    def fetched() -> float:
        request = FetchRequest(partitions={partition: FetchPartition(append(), 1 << 20, EPOCH)})
        answer, _ = brokers.exchange(fetch.API_KEY, 12, request)
        return spent(answer)

    def read() -> float:
        offset = append()
        return spent(lambda: log.read(offset, 1 << 20, isolation=Isolation.HIGH_WATERMARK))

    benchmark.extra_info["us of processor time, answer"] = round(median(fetched() for _ in range(ROUNDS)), 1)
    benchmark.extra_info["us of processor time, read alone"] = round(median(read() for _ in range(ROUNDS)), 1)
    benchmark.pedantic(fetched, rounds=ROUNDS)
