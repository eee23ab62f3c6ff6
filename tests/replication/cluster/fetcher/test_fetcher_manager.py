"""Threads that fetch from several leaders: who fetches what, what happens when leaders go, and who stops."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch.base.resource_limits import ResourceLimitError
from logstore import AppendInfo, Log, Record, TopicPartition
from replication.base.clock import monotonic_ms
from replication.cluster.fetcher import fetcher_thread
from replication.cluster.fetcher.decisions.fetch_state import FetchState, Phase
from replication.cluster.fetcher.errors import FetchersClosedError
from replication.cluster.fetcher.fetch_observer import FetchObserver
from replication.cluster.fetcher.fetcher import FetcherRequest, FetcherResponse
from replication.cluster.fetcher.fetcher_manager import FetcherManager, LeaderAddress, fetcher_number
from replication.cluster.fetcher.fetcher_settings import FetcherSettings
from replication.cluster.fetcher.requests.throttle import Throttle
from replication.wire.addresses import Address
from replication.wire.errors import ConnectionClosedError, ConnectionFailedError
from replication.wire.messages.api_versions import ApiVersions
from replication.wire.messages.fetch import FetchResponse
from tests.replication.cluster.fetcher.drive import open_log
from tests.replication.cluster.fetcher.leader import Leader

PATIENCE = 60
PARTITIONS = [TopicPartition("orders", number) for number in range(4)]


class Wire:
    """Brokers by address; a connection to one answers at once, or after a little where a fetch brings nothing."""

    def __init__(self) -> None:
        self.leaders: dict[Address, Leader] = {}
        self.connections: list[Wired] = []
        self.threads: set[str] = set()

    def open(self, address: Address, _: object, *, has_worked: bool, made: object) -> "Wired":
        del has_worked, made
        if address not in self.leaders:
            raise ConnectionFailedError(address, "Connection refused")
        self.connections.append(Wired(self, address))
        return self.connections[-1]


class Wired:
    """A connection, as far as fetchers use one."""

    versions = ApiVersions({1: range(19), 2: range(12), 23: range(5)})

    def __init__(self, wire: Wire, address: Address) -> None:
        self.wire, self.address = wire, address
        self.asked: deque[FetcherRequest] = deque()
        self.closed = threading.Event()

    def send(self, request: FetcherRequest) -> int:
        self.wire.threads.add(threading.current_thread().name)
        self.asked.append(request)
        return 0

    def receive(self, _: int) -> tuple[int, FetcherResponse]:
        leader = self.wire.leaders.get(self.address)
        if self.closed.is_set() or leader is None:
            raise ConnectionClosedError(self.address, "the broker closed the connection")
        answer = leader.answer(self.asked.popleft())
        if isinstance(answer, FetchResponse) and not answer.partitions:
            self.closed.wait(0.01)
        return 0, answer

    def close(self) -> None:
        self.closed.set()


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    made = Wire()
    monkeypatch.setattr(fetcher_thread.Connection, "open", made.open)
    return made


class Setting(ExitStack):
    """Leaders and logs for a manager to follow with."""

    def __init__(self, wire: Wire, root: Path) -> None:
        super().__init__()
        self.wire, self.root = wire, root

    def __enter__(self) -> Self:
        return self

    def leader(self, broker_id: int, *partitions: TopicPartition, epoch: int = 0) -> LeaderAddress:
        """A broker that leads these, with one record each."""
        address = Address(f"broker{broker_id}", 9092)
        leader = self.wire.leaders.setdefault(address, Leader())
        for partition in partitions:
            log = self.log(f"leader-{broker_id}", partition)
            log.append([Record.of(b"by %d" % broker_id)], leader_epoch=epoch)
            log.update_high_watermark(log.log_end_offset)
            leader.lead(partition, log, epoch)
        return LeaderAddress(broker_id, address)

    def log(self, side: str, partition: TopicPartition) -> Log:
        return self.enter_context(open_log(self.root / side, partition))

    def manager(
        self, threads: int = 1, observer: FetchObserver | None = None, throttle: Throttle | None = None
    ) -> FetcherManager:
        manager = FetcherManager(settings=FetcherSettings(), threads=threads, observer=observer, throttle=throttle)
        self.callback(manager.close)
        return manager


@pytest.fixture
def setting(wire: Wire, tmp_path: Path) -> Iterator[Setting]:
    with Setting(wire, tmp_path) as made:
        yield made


def eventually(holds: Callable[[], bool]) -> None:
    """Wait for what threads bring about."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_partitions_are_spread_over_threads_of_their_leader(setting: Setting, wire: Wire) -> None:
    leader = setting.leader(1, *PARTITIONS)
    manager = setting.manager(threads=2)
    for partition in PARTITIONS:
        manager.follow(partition, setting.log("follower", partition), leader, 0)
    for partition in PARTITIONS:
        eventually(lambda partition=partition: manager.is_caught_up(partition, 0))  # type: ignore[misc]
    assert wire.threads == {"fetcher-1-0", "fetcher-1-1"}
    assert set(manager.states) == set(PARTITIONS)
    assert manager.failed == {}


def test_a_partition_moves_to_another_leader_while_others_stay(setting: Setting, wire: Wire) -> None:
    moved, stays = PARTITIONS[:2]
    first, second = setting.leader(1, moved, stays), setting.leader(2)
    manager = setting.manager()
    logs = {each: setting.log("follower", each) for each in (moved, stays)}
    for each, log in logs.items():
        manager.follow(each, log, first, 0)
        eventually(lambda each=each: manager.is_caught_up(each, 0))  # type: ignore[misc]
    successor = setting.log("leader-2", moved)
    successor.append_batches(logs[moved].read(0, 1 << 20).data)
    successor.append([Record.of(b"by 2")], leader_epoch=1)
    successor.update_high_watermark(2)
    wire.leaders[second.address].lead(moved, successor, 1)
    manager.follow(moved, logs[moved], second, 1)
    eventually(lambda: logs[moved].log_end_offset == 2)
    assert logs[stays].log_end_offset == 1
    assert manager.state(stays) is not None


def test_threads_that_follow_nothing_any_more_hang_up(setting: Setting, wire: Wire) -> None:
    manager = setting.manager()
    manager.follow(PARTITIONS[0], setting.log("follower", PARTITIONS[0]), setting.leader(1, PARTITIONS[0]), 0)
    eventually(lambda: manager.is_caught_up(PARTITIONS[0], 0))
    manager.forget(PARTITIONS[0])
    eventually(lambda: all(each.closed.is_set() for each in wire.connections))
    assert manager.state(PARTITIONS[0]) is None


class Asked(Throttle):
    """Tells once it was asked whether a partition is to wait."""

    def __init__(self, bytes_per_second: int, *, windows: int) -> None:
        super().__init__(bytes_per_second, windows=windows)
        self.asked = threading.Event()

    def limits(self, partition: TopicPartition, state: FetchState) -> bool:
        self.asked.set()
        return super().limits(partition, state)


def test_what_a_throttle_holds_up_goes_on_as_soon_as_it_is_lifted(setting: Setting) -> None:
    """Else it would wait until what was fetched lately counts no more: here for hours."""
    throttle = Asked(1, windows=10_000)
    throttle.record(PARTITIONS[0], 1 << 30, monotonic_ms())
    manager = setting.manager(throttle=throttle)
    leader, log = setting.leader(1, PARTITIONS[0]), setting.log("follower", PARTITIONS[0])
    manager.follow(PARTITIONS[0], log, leader, 0)
    assert throttle.asked.wait(PATIENCE)
    throttle.bytes_per_second = None
    manager.look_again()
    eventually(lambda: log.log_end_offset == 1)


class Disconnections(FetchObserver):
    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def disconnected(self, address: str, reason: str) -> None:
        self.told.append((address, reason))


class Standings(FetchObserver):
    def __init__(self) -> None:
        self.told: list[str] = []

    def connected(self, address: str) -> None:
        self.told.append(f"{address} connected")

    def answered(self, address: str) -> None:
        self.told.append(f"{address} answered")

    def left(self, address: str) -> None:
        self.told.append(f"{address} left")


def test_a_leader_that_cannot_be_reached_is_in_doubt_and_followed_once_it_can(setting: Setting, wire: Wire) -> None:
    observer = Disconnections()
    manager = setting.manager(observer=observer)
    partition = PARTITIONS[0]
    leader = setting.leader(1, partition)
    gone = wire.leaders.pop(leader.address)
    manager.follow(partition, setting.log("follower", partition), leader, 0)
    assert manager.doubts.take(PATIENCE) == {partition}
    state = manager.state(partition)
    assert isinstance(state, FetchState)
    assert state.reason.startswith("broker1:9092: cannot connect: Connection refused")
    eventually(lambda: bool(observer.told))
    assert observer.told[0][0] == "broker1:9092"
    wire.leaders[leader.address] = gone
    eventually(lambda: manager.is_caught_up(partition, 0))


def test_the_first_answer_on_a_connection_is_told_and_that_a_leader_is_followed_no_more(
    setting: Setting, wire: Wire
) -> None:
    observer = Standings()
    manager = setting.manager(observer=observer)
    partition = PARTITIONS[0]
    manager.follow(partition, setting.log("follower", partition), setting.leader(1, partition), 0)
    eventually(lambda: manager.is_caught_up(partition, 0))
    wire.connections[0].close()
    eventually(lambda: len(observer.told) == 4)
    manager.forget(partition)
    assert observer.told == ["broker1:9092 connected", "broker1:9092 answered"] * 2 + ["broker1:9092 left"]


@pytest.mark.parametrize("threads", [0, -1])
def test_nobody_is_followed_without_threads(threads: int) -> None:
    with pytest.raises(ValueError, match="threads must be at least 1"):
        FetcherManager(threads=threads)


def test_a_partition_that_failed_is_listed_with_its_reason(setting: Setting) -> None:
    manager = setting.manager()
    leader = setting.leader(1, *PARTITIONS[:2])
    bad, good = PARTITIONS[:2]
    closed = setting.log("follower", bad)
    closed.close()
    manager.follow(bad, closed, leader, 0)
    manager.follow(good, setting.log("follower", good), leader, 0)
    eventually(lambda: manager.is_caught_up(good, 0))
    eventually(lambda: bad in manager.failed)
    assert "the log is closed" in manager.failed[bad]
    manager.fail(good, "enough")
    assert manager.failed[good] == "enough"
    state = manager.state(good)
    assert state is not None
    assert state.phase is Phase.FAILED


def test_after_close_no_log_is_touched(setting: Setting, wire: Wire) -> None:
    partition = PARTITIONS[0]
    leader = setting.leader(1, partition)
    log = setting.log("follower", partition)
    manager = setting.manager()
    manager.follow(partition, log, leader, 0)
    eventually(lambda: manager.is_caught_up(partition, 0))
    manager.close()
    threads = [each for each in threading.enumerate() if each.name.startswith("fetcher-1")]
    assert threads == []
    with pytest.raises(FetchersClosedError, match="the fetchers are closed"):
        manager.follow(partition, log, leader, 1)
    assert all(each.closed.is_set() for each in wire.connections)


@given(st.text("abcxyz-._09", min_size=1, max_size=30), st.integers(0, 2**31 - 1), st.integers(1, 9))
def test_the_thread_is_kafkas(topic: str, partition: int, threads: int) -> None:
    """Utils.abs(31 * topic.hashCode() + partition) % numFetchersPerBroker, in Java's arithmetic."""
    hashed = 0
    for letter in topic.encode():
        hashed = hashed * 31 + letter
    value = (hashed * 31 + partition) % 2**32
    signed = value - 2**32 if value >= 2**31 else value
    assert fetcher_number(TopicPartition(topic, partition), threads) == abs(signed) % threads


def test_a_leader_whose_thread_could_not_be_started_is_followed_the_next_time(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    leader, log, manager = setting.leader(1, PARTITIONS[0]), setting.log("follower", PARTITIONS[0]), setting.manager()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_more)
        with pytest.raises(ResourceLimitError, match="can't start new thread"):
            manager.follow(PARTITIONS[0], log, leader, 0)
    manager.follow(PARTITIONS[0], log, leader, 0)
    eventually(lambda: manager.is_caught_up(PARTITIONS[0], 0))


class Ending(FetchObserver):
    """Ends the thread that calls it, as soon as it has appended something."""

    def appended(self, partition: TopicPartition, info: AppendInfo, state: FetchState) -> None:
        del partition, info, state
        raise SystemExit


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_is_ended_leaves_no_partition_that_seems_to_be_followed(setting: Setting) -> None:
    leader, manager = setting.leader(1, PARTITIONS[0]), setting.manager(observer=Ending())
    manager.follow(PARTITIONS[0], setting.log("follower", PARTITIONS[0]), leader, 0)
    eventually(lambda: "SystemExit" in manager.failed.get(PARTITIONS[0], ""))
