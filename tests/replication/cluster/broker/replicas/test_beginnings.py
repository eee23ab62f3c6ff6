"""Leaderships that are to begin do so at once, by as many threads as the process may have."""

from collections.abc import Callable
from threading import Barrier, Thread
from typing import cast
from uuid import UUID

import pytest

from logstore import TopicPartition
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.broker.replicas.beginnings import Beginning, Beginnings
from replication.records.metadata.image_changes import PartitionId

MANY = 100
TOPIC_ID = UUID(int=1)


def leader(number: int) -> LedPartition:
    """What stands for one."""
    return cast("LedPartition", f"leader of {number}")


def beginning(number: int, begin: Callable[[], LedPartition]) -> Beginning:
    hosted = cast("HostedPartition", None)
    return Beginning(PartitionId(TOPIC_ID, number), TopicPartition("orders", number), hosted, begin)


def with_begun(*begin: Callable[[], LedPartition]) -> Beginnings:
    beginnings = Beginnings()
    for number, each in enumerate(begin):
        beginnings.add(beginning(number, each))
    return beginnings


@pytest.mark.parametrize("threads", [0, 3, None])
def test_each_is_begun_once_whatever_threads_there_are(threads: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Thread] = []
    start = Thread.start

    def limited(thread: Thread) -> None:
        if len(started) == threads:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(Thread, "start", limited)
    begun: list[int] = []

    def begin(number: int) -> LedPartition:
        begun.append(number)
        return leader(number)

    beginnings = with_begun(*(lambda number=number: begin(number) for number in range(MANY)))
    outcomes = [(each.partition.partition, outcome) for each, outcome in beginnings.begin()]
    assert outcomes == [(number, leader(number)) for number in range(MANY)], "in the order in which they were added"
    assert sorted(begun) == list(range(MANY))
    assert not any(thread.is_alive() for thread in started)
    assert beginnings.begin() == []


def test_they_wait_for_the_disk_together() -> None:
    together = Barrier(2, timeout=60)

    def begin() -> LedPartition:
        together.wait()
        return leader(0)

    assert [outcome for _, outcome in with_begun(begin, begin).begin()] == [leader(0)] * 2


def test_what_keeps_one_from_it_is_returned() -> None:
    failure = OSError("no such disk")

    def fail() -> LedPartition:
        raise failure

    outcomes = [outcome for _, outcome in with_begun(fail, lambda: leader(1)).begin()]
    assert set(outcomes) == {failure, leader(1)}


def test_any_other_error_is_raised_once_all_have_begun() -> None:
    begun: list[int] = []

    def fail() -> LedPartition:
        raise AssertionError("a bug")

    def begin() -> LedPartition:
        begun.append(1)
        return leader(1)

    with pytest.raises(AssertionError, match="a bug"):
        with_begun(fail, begin, begin).begin()
    assert len(begun) == 2
