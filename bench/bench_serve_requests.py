"""What reading requests of 1,000 partitions cost a broker's processor, and what a reader sees of a log that changes.

All in one process: from the bytes of a request to those of its answer, without a socket. 20 partitions and small logs
without --benchmark-enable.
"""

import shutil
import socket
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.replica import RECORDS, one_batch
from bench.room import BUILD, require_room
from logstore import Isolation, Log, LogConfig, TopicPartition
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.cluster.serving.frozen_broker import made_id
from replication.cluster.serving.frozen_cluster import FrozenCluster
from replication.records.metadata.image import ClusterImage
from replication.wire.addresses import Address
from replication.wire.client.exchange import Exchange
from replication.wire.encoding.framing import SIZE_BYTES
from replication.wire.error_code import ErrorCode
from replication.wire.messages.api_versions import ApiVersions
from replication.wire.messages.fetch import (
    FINAL_SESSION_EPOCH,
    INITIAL_SESSION_EPOCH,
    FetchPartition,
    FetchRequest,
)
from replication.wire.messages.offset_for_leader_epoch import EpochQuestion, OffsetForLeaderEpochRequest
from replication.wire.server.call import Call, Caller
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.received_request import ReceivedRequest
from replication.wire.server.served_api import ServedApis
from replication.wire.server.server import Server
from tests.replication.cluster.serving.many_partitions import END, TOPIC, many_partitions

FULL, SMALL = 1_000, 20
ROUNDS = 200
SMALL_ROUNDS = 2
MUCH = 1 << 20
CALLER = Caller("127.0.0.1")
IDS = {TOPIC: made_id(TOPIC)}
TAIL = TopicPartition("tail", 0)
LOG_BYTES = 600 << 20
CUT_BYTES = 4 << 20
PATIENCE_SECONDS = 60
DEAF = 10


class Handlers:
    """A broker's answers to frames, without sockets; and the client's side, which knows what they mean."""

    def __init__(self, apis: ServedApis) -> None:
        self._apis = apis
        self._exchange = Exchange("bench")

    def frame(self, request: Any) -> memoryview:
        return memoryview(self._exchange.ask(request)[1])[SIZE_BYTES:]

    def answer(self, frame: memoryview) -> bytes:
        """Answer as a connection does, up to what it gives to the socket."""
        received = ReceivedRequest.of(frame)
        call = Call(received.header.api_version, CALLER, received.header.client_id)
        return b"".join(received.answer_parts(self._apis[received.api.key].answer(received.request, call)))

    def read(self, data: bytes) -> Any:
        return self._exchange.answer(memoryview(data)[SIZE_BYTES:])[1]


@pytest.fixture
def many(benchmark: BenchmarkFixture) -> Iterator[tuple[Handlers, Sequence[TopicPartition]]]:
    """A broker with so many partitions, and those."""
    count = SMALL if benchmark.disabled else FULL
    with FrozenCluster.open([many_partitions(count)]) as cluster:
        (broker,) = cluster.brokers
        image = cluster.image({broker.node_id: {CALLER.listener: Address("127.0.0.1", 9092)}})
        apis = reading_apis(cluster.hosted[broker.node_id], KnownCluster("bench", broker.node_id, lambda: image))
        yield Handlers(apis), [TopicPartition(TOPIC, number) for number in range(count)]


def processor_seconds(benchmark: BenchmarkFixture, handlers: Handlers, requests: Sequence[Any]) -> tuple[float, Any]:
    """Answer one after the other; return what an answer usually costs this thread, and what the last one says."""
    frames = iter([handlers.frame(request) for request in requests])
    seconds: list[float] = []
    answers: list[Any] = []

    def answer_next() -> None:
        frame = next(frames)
        begun = time.thread_time()
        data = handlers.answer(frame)
        seconds.append(time.thread_time() - begun)
        answers[:] = [handlers.read(data)]

    benchmark.pedantic(answer_next, rounds=len(requests), warmup_rounds=0)
    return statistics.median(seconds[len(seconds) // 10 :]), answers[0]


def told(benchmark: BenchmarkFixture, figures: dict[str, float]) -> None:
    benchmark.extra_info |= {name: round(value, 3) for name, value in figures.items()}
    if benchmark.enabled:
        print(f"\n{benchmark.extra_info}")


def rounds(benchmark: BenchmarkFixture, full: int = ROUNDS) -> int:
    return SMALL_ROUNDS if benchmark.disabled else full


def bench_epoch_ends_of_many_partitions(
    benchmark: BenchmarkFixture, many: tuple[Handlers, Sequence[TopicPartition]]
) -> None:
    handlers, partitions = many
    request = OffsetForLeaderEpochRequest(partitions=dict.fromkeys(partitions, EpochQuestion(-1, 1)))
    seconds, answer = processor_seconds(benchmark, handlers, [request] * rounds(benchmark))
    assert {(each.error, *each.end) for each in answer.partitions.values()} == {(ErrorCode.NONE, 1, END)}
    assert len(answer.partitions) == len(partitions)
    told(benchmark, {"ms of processor time": seconds * 1e3})


@pytest.mark.parametrize(
    "session_epoch", [FINAL_SESSION_EPOCH, INITIAL_SESSION_EPOCH], ids=["sessionless", "new-session"]
)
def bench_full_fetch_of_many_idle_partitions(
    benchmark: BenchmarkFixture, many: tuple[Handlers, Sequence[TopicPartition]], session_epoch: int
) -> None:
    handlers, partitions = many
    request = idle_fetch(partitions, session_epoch=session_epoch)
    seconds, answer = processor_seconds(benchmark, handlers, [request] * rounds(benchmark))
    assert {(each.error, each.high_watermark, each.records) for each in answer.partitions.values()} == {
        (ErrorCode.NONE, END, b"")
    }
    assert len(answer.partitions) == len(partitions)
    assert bool(answer.session_id) == (session_epoch == INITIAL_SESSION_EPOCH)
    told(benchmark, {"ms of processor time": seconds * 1e3})


def bench_incremental_fetch_of_many_idle_partitions(
    benchmark: BenchmarkFixture, many: tuple[Handlers, Sequence[TopicPartition]]
) -> None:
    handlers, partitions = many
    first = handlers.frame(idle_fetch(partitions, session_epoch=INITIAL_SESSION_EPOCH))
    session_id = handlers.read(handlers.answer(first)).session_id
    assert session_id
    requests = [
        idle_fetch((), session_id=session_id, session_epoch=number + 1) for number in range(rounds(benchmark, 5_000))
    ]
    seconds, answer = processor_seconds(benchmark, handlers, requests)
    assert (answer.error, answer.session_id, len(answer.partitions)) == (ErrorCode.NONE, session_id, 0)
    told(benchmark, {"µs of processor time": seconds * 1e6})


def idle_fetch(partitions: Sequence[TopicPartition], *, session_epoch: int, session_id: int = 0) -> FetchRequest:
    asked = dict.fromkeys(partitions, FetchPartition(END, MUCH))
    return FetchRequest(
        partitions=asked, topic_ids=IDS, max_wait_ms=0, session_id=session_id, session_epoch=session_epoch
    )


# --- a log that changes


@contextmanager
def changing_log(name: str) -> Iterator[Log]:
    directory = BUILD / name / str(TAIL)
    shutil.rmtree(directory.parent, ignore_errors=True)
    directory.parent.mkdir(parents=True)
    with Log.open(directory, LogConfig(retention_ms=-1, segment_bytes=1 << 30)) as log:
        yield log
    shutil.rmtree(directory.parent)


def fill(log: Log, size: int) -> None:
    """Append batches of 16 KiB, 64 at once."""
    group = [bytearray(one_batch()) for _ in range(64)]
    while log.size < size:
        for number, batch in enumerate(group):
            batch[:8] = (log.log_end_offset + number * RECORDS).to_bytes(8)
        log.append_batches(b"".join(group))
    log.update_high_watermark(log.log_end_offset)


def bench_tail_read_after_an_append(benchmark: BenchmarkFixture) -> None:
    """A batch of 16 KiB is appended and committed; the time is that of the read which finds it."""
    batch = one_batch()
    seconds: list[float] = []
    with changing_log("tail") as log:

        def append_and_read() -> None:
            offset = log.append(batch, leader_epoch=0).first_offset
            log.advance_high_watermark(log.log_end_offset)
            begun = time.perf_counter()
            view = log.read(offset, MUCH, isolation=Isolation.HIGH_WATERMARK)
            seconds.append(time.perf_counter() - begun)
            assert len(view.data) == len(batch)

        append_and_read()
        benchmark.pedantic(append_and_read, rounds=rounds(benchmark, 10_000))
    percentiles = statistics.quantiles(seconds, n=100, method="inclusive")
    told(benchmark, {"µs, median": percentiles[49] * 1e6, "µs, 99th percentile": percentiles[98] * 1e6})


def bench_truncation_while_clients_do_not_read(benchmark: BenchmarkFixture) -> None:
    """Truncates a log by 4 MiB, by turns alone and while ten clients have stopped in the middle of what is cut."""
    size = LOG_BYTES if benchmark.enabled else 12 * CUT_BYTES
    require_room(disk=size, memory=size)
    alone: list[float] = []
    held: list[float] = []
    partitions = HostedPartitions()
    apis = reading_apis(partitions, KnownCluster("bench", 1, ClusterImage))
    with changing_log("truncation") as log, Server([ListenerSettings(address=Address("127.0.0.1", 0))]) as server:
        partitions[TAIL] = HostedPartition(log, 0)
        server.start(apis)
        (address,) = server.addresses.values()
        fill(log, size)

        def both() -> None:
            alone.append(seconds_to_cut(log))
            clients = [deaf(address, log) for _ in range(DEAF)]
            held.append(seconds_to_cut(log))
            for client in clients:
                client.close()

        benchmark.pedantic(both, rounds=rounds(benchmark, 20))
    figures = {"alone, ms": statistics.median(alone) * 1e3, "beside clients, ms": statistics.median(held) * 1e3}
    told(benchmark, {**figures, "times as long": statistics.median(held) / statistics.median(alone)})


def seconds_to_cut(log: Log) -> float:
    batches = CUT_BYTES // len(one_batch())
    log.flush()
    begun = time.perf_counter()
    assert log.truncate_to(log.log_end_offset - batches * RECORDS)
    return time.perf_counter() - begun


def deaf(address: Address, log: Log) -> socket.socket:
    """Return a connection on which the end of the log was asked for, and of which no more than the size was read."""
    exchange = Exchange("deaf")
    exchange.versions = ApiVersions({1: range(4, 13)})  # by name
    offset = log.log_end_offset - CUT_BYTES // len(one_batch()) * RECORDS
    connected = socket.socket()
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
    connected.settimeout(PATIENCE_SECONDS)
    connected.connect(address)
    connected.sendall(exchange.ask(FetchRequest(partitions={TAIL: FetchPartition(offset, 2 * CUT_BYTES)}))[1])
    assert int.from_bytes(connected.recv(SIZE_BYTES, socket.MSG_WAITALL), "big") > CUT_BYTES // 2
    return connected
