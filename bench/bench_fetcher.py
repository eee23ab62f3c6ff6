"""What following costs beside the leader's answers and the disk: encoding, decoding and deciding, in one process.

With --benchmark-enable there are 1,000 partitions to truncate and 10,000 to idle with, else a hundred.
"""

import itertools
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from shutil import rmtree
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from kio.static.protocol import ResponsePayload
from pytest_benchmark.fixture import BenchmarkFixture

from epoch import EpochEntry, EpochHistory
from logstore import Log, LogConfig, Record, TopicPartition
from replication.cluster.fetcher.fetched_batches import whole_batches
from replication.cluster.fetcher.fetcher import Fetcher, FetcherRequest
from replication.cluster.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from replication.wire.client.exchange import Exchange
from replication.wire.encoding.kio_messages import response_classes, write
from replication.wire.error_code import ErrorCode
from replication.wire.messages import fetch, offset_for_leader_epoch
from replication.wire.messages.api_versions import ApiVersions
from replication.wire.messages.fetch import FetchRequest
from replication.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest

BUILD = Path(__file__).parent.parent / "build/bench/fetcher"
TOPIC_ID = UUID(int=7)
EPOCHS = 5
MIRROR = FetcherSettings()
REPLICA = FetcherSettings(identity=FetchIdentity(5, 1))
SPOKEN = ApiVersions({fetch.API_KEY: range(19), offset_for_leader_epoch.API_KEY: range(5)})


def measured(benchmark: BenchmarkFixture, full: int) -> int:
    """How many partitions to follow: few where nothing is measured."""
    return 100 if benchmark.disabled else full


def exchange() -> Exchange:
    """A connection's requests and answers, without the connection."""
    made = Exchange("bench")
    made.versions = SPOKEN
    return made


@dataclass
class StandIn:
    """A log at rest: thousands of real ones would measure the opening of files."""

    log_start_offset: int = 0
    log_end_offset: int = 1_000
    high_watermark: int = 1_000
    epochs: Any = field(
        default_factory=lambda: SimpleNamespace(
            history=EpochHistory(EpochEntry(epoch, 200 * epoch) for epoch in range(EPOCHS))
        )
    )

    def truncate_to(self, _: int) -> bool:
        """Where it ends already."""
        return False


def following(count: int, settings: FetcherSettings) -> tuple[Fetcher, list[TopicPartition]]:
    """A fetcher that begins to follow so many partitions."""
    fetcher = Fetcher(settings)
    partitions = [TopicPartition("orders", number) for number in range(count)]
    for partition in partitions:
        fetcher.follow(partition, cast("Log", StandIn()), EPOCHS, TOPIC_ID)
    return fetcher, partitions


def epochs_answered(count: int) -> ResponsePayload:
    """What a leader of the same history says of so many partitions."""
    classes = response_classes(offset_for_leader_epoch.API_KEY, 4)
    known = {"error_code": ErrorCode.NONE, "leader_epoch": EPOCHS - 1, "end_offset": 1_000}
    ends = [classes.EpochEndOffset(partition=number, **known) for number in range(count)]
    topic = classes.OffsetForLeaderTopicResult(topic="orders", partitions=tuple(ends))
    answer: ResponsePayload = classes.OffsetForLeaderEpochResponse(throttle_time=timedelta(), topics=(topic,))
    return answer


def fetch_answered(count: int) -> ResponsePayload:
    """What a leader says to a fetch in a session when so many partitions have nothing new."""
    classes = response_classes(fetch.API_KEY, 18)
    partitions = [
        classes.PartitionData(
            partition_index=number,
            error_code=ErrorCode.NONE,
            high_watermark=1_000,
            last_stable_offset=1_000,
            log_start_offset=0,
            aborted_transactions=None,
            records=None,
        )
        for number in range(count)
    ]
    topic = classes.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=tuple(partitions))
    answer: ResponsePayload = classes.FetchResponse(
        throttle_time=timedelta(), error_code=ErrorCode.NONE, session_id=9, responses=(topic,) if count else ()
    )
    return answer


def waits() -> Iterator[int]:
    """The clock, as often as a leader that has no news answers: a follower of one that does not wait is held back."""
    return itertools.count(1, FetcherSettings().max_wait_ms)


def answered(fetcher: Fetcher, made: Exchange, body: bytes, now: int) -> FetcherRequest:
    """One round: what is due is encoded, its answer decoded and taken."""
    (request,) = fetcher.requests(now)
    correlation_id, _ = made.ask(request)
    _, answer = made.answer(memoryview(correlation_id.to_bytes(4) + b"\0" + body))
    fetcher.take(request, answer, now)
    return request


def bench_truncation_round(benchmark: BenchmarkFixture) -> None:
    """1,000 partitions ask where their epochs end; the target is 20 ms beyond the leader's answer."""
    count = measured(benchmark, 1_000)
    body = write(epochs_answered(count))

    def setup() -> tuple[tuple[Fetcher, Exchange], dict[str, object]]:
        return (following(count, MIRROR)[0], exchange()), {}

    def round_(fetcher: Fetcher, made: Exchange) -> None:
        assert isinstance(answered(fetcher, made, body, 0), OffsetForLeaderEpochRequest)

    benchmark.extra_info["partitions"] = count
    benchmark.pedantic(round_, setup=setup, rounds=20)


def idle(count: int) -> tuple[Fetcher, Exchange]:
    """A fetcher in a session in which nothing happens."""
    fetcher, _ = following(count, REPLICA)
    made = exchange()
    answered(fetcher, made, write(fetch_answered(count)), 0)
    return fetcher, made


def bench_idle_round(benchmark: BenchmarkFixture) -> None:
    """10,000 partitions with nothing new; there are two such rounds a second."""
    count = measured(benchmark, 10_000)
    fetcher, made = idle(count)
    nothing, now = write(fetch_answered(0)), waits()

    def round_() -> None:
        request = answered(fetcher, made, nothing, next(now))
        assert isinstance(request, FetchRequest)
        assert not request.partitions

    benchmark.extra_info["partitions"] = count
    benchmark(round_)


def bench_first_fetch(benchmark: BenchmarkFixture) -> None:
    """10,000 partitions in full, as a session begins, or where the leader has no room for one."""
    count = measured(benchmark, 10_000)
    body = write(fetch_answered(count))

    def setup() -> tuple[tuple[Fetcher, Exchange], dict[str, object]]:
        return (following(count, REPLICA)[0], exchange()), {}

    def round_(fetcher: Fetcher, made: Exchange) -> None:
        request = answered(fetcher, made, body, 0)
        assert isinstance(request, FetchRequest)
        assert len(request.partitions) == count

    benchmark.extra_info["partitions"] = count
    benchmark.pedantic(round_, setup=setup, rounds=5)


def bench_memory_of_a_partition(benchmark: BenchmarkFixture) -> None:
    """Bytes that a followed partition takes beside its log, in a session."""
    count = measured(benchmark, 10_000)
    logs = [cast("Log", StandIn()) for _ in range(count)]
    body = write(fetch_answered(count))

    def follow() -> Fetcher:
        fetcher = Fetcher(REPLICA)
        for number, log in enumerate(logs):
            fetcher.follow(TopicPartition("orders", number), log, EPOCHS, TOPIC_ID)
        answered(fetcher, exchange(), body, 0)
        return fetcher

    follow()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    fetcher = follow()
    benchmark.extra_info["bytes_per_partition"] = (tracemalloc.get_traced_memory()[0] - before) / count
    tracemalloc.stop()
    assert len(fetcher) == count
    benchmark.pedantic(follow, rounds=1)


@pytest.fixture
def followed() -> Iterator[Log]:
    """A log that takes what is appended to it."""
    rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    with ExitStack() as stack:
        yield stack.enter_context(Log.open(BUILD / "orders-0", LogConfig()))
    rmtree(BUILD)


def bench_whole_batches(benchmark: BenchmarkFixture, followed: Log) -> None:
    """1 MiB of batches of 16 KiB, looked at before it is appended: the price of refusing epochs that go back."""
    for _ in range(64):
        followed.append([Record.of(b"v" * 100)] * 148, leader_epoch=3)
    records = followed.read(0, 1 << 20).data
    benchmark.extra_info["bytes"] = len(records)
    assert benchmark(whole_batches, records, 3).data == records
