"""Runs a fetcher against a leader in this process, and compares what they hold."""

from pathlib import Path

from epoch.filesystem import FileSystem
from logstore import Log, LogConfig, TopicPartition
from logstore.log.readable_log import ReadableLog
from replication.cluster.fetcher.decisions.fetch_state import Phase
from replication.cluster.fetcher.fetch_observer import Cut, FetchObserver
from replication.cluster.fetcher.fetcher import Fetcher, FetcherRequest
from tests.disk import Unsynced
from tests.replication.cluster.fetcher.leader import Leader

PARTITION = TopicPartition("orders", 0)
CONFIG = LogConfig(segment_bytes=2_000, segment_index_bytes=4_096, index_interval_bytes=200)
MANY_ROUNDS = 200


class Cuts(FetchObserver):
    """Remembers what was cut."""

    def __init__(self) -> None:
        self.cuts: list[Cut] = []

    def truncated(self, log: Log, cut: Cut) -> None:
        assert log.log_end_offset == cut.offset
        self.cuts.append(cut)


def open_log(root: Path, partition: TopicPartition = PARTITION, disk: FileSystem | None = None) -> Log:
    root.mkdir(parents=True, exist_ok=True)
    return Log.open(root / str(partition), CONFIG, filesystem=disk or Unsynced(), replicated=True)


def exchange(fetcher: Fetcher, leader: Leader, now: int = 0) -> list[FetcherRequest]:
    """One round: what is due is asked, and answered."""
    requests = fetcher.requests(now)
    for request in requests:
        fetcher.take(request, leader.answer(request), now)
    return requests


def catch_up(
    fetcher: Fetcher, leader: Leader, partition: TopicPartition = PARTITION, *, to: int = 0, wait_ms: int = 0
) -> list[FetcherRequest]:
    """Rounds until the follower has all that was committed, and reaches offset `to`; returns what was asked.

    `wait_ms` is how long the follower may wait meanwhile of its own.
    """
    asked: list[FetcherRequest] = []
    # Later than all before: what was answered before does not count.
    for now in range(fetcher.confirmed_at + 1, fetcher.confirmed_at + MANY_ROUNDS + wait_ms):
        asked += exchange(fetcher, leader, now)
        state = fetcher.state(partition)
        assert state is not None
        assert state.phase is not Phase.FAILED, state.reason
        if fetcher.is_caught_up(partition, now) and state.fetch_offset >= to:
            return asked
    raise AssertionError(f"not caught up after {MANY_ROUNDS} rounds: {fetcher.state(partition)}")


def batches(log: ReadableLog, start_offset: int, end_offset: int) -> list[tuple[int, bytes]]:
    """The batches that hold offsets from `start_offset` on, with their base offsets, up to `end_offset`."""
    found: dict[int, bytes] = {}
    offset = max(start_offset, log.log_start_offset)
    while offset < min(end_offset, log.log_end_offset):
        view = log.read(offset, 1 << 20)
        for batch in view.batches():
            found[batch.base_offset] = bytes(view.data[batch.position : batch.position + batch.size])
        if view.next_offset == offset:
            break
        offset = view.next_offset
    return sorted(each for each in found.items() if each[0] < end_offset)


def assert_follows(follower: ReadableLog, leader: ReadableLog, end_offset: int) -> None:
    """The follower has what the leader has, up to `end_offset`: the same batches, in the same epochs."""
    start = max(follower.log_start_offset, leader.log_start_offset)
    assert follower.log_end_offset == end_offset
    assert batches(follower, start, end_offset) == batches(leader, start, end_offset)
    ours = follower.epochs.entries_in_range(start, end_offset)
    assert ours == leader.epochs.entries_in_range(start, end_offset)
