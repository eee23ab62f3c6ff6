"""Where a replica's log cannot be seen, no empty one, and no older copy, takes its place."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from logstore import Log
from logstore.directory.log_directory import LogDirectory
from replication.records.metadata.image_changes import PartitionId
from replication.records.metadata.records import UNASSIGNED_DIRECTORY, MetadataRecord, PartitionRecord
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.replicas.managed_broker import (
    ME,
    ORDERS,
    OTHER,
    TOPIC,
    Broker,
    changed,
    made,
    registered,
)

FIRST, SECOND, ELSEWHERE = UUID(int=1_001), UUID(int=1_002), UUID(int=50)
BROKEN = OSError(5, "Input/output error")


@contextmanager
def opened(root: Path, *others: Path) -> Iterator[Broker]:
    broker = Broker(root, *others)
    try:
        yield broker
    finally:
        broker.replicas.close()
        broker.directories.close()


def placed(directory: UUID, *, leader: int = ME) -> list[MetadataRecord]:
    topic, first = made(leader, ME, OTHER)
    assert isinstance(first, PartitionRecord)
    return [topic, replace(first, directories=(directory, ELSEWHERE))]


def assert_offline(broker: Broker) -> None:
    assert broker.replicas.hosted.offline == {ORDERS}
    assert not [root for root in broker.directories.roots if (root.root / "orders-0").is_dir() and not root.failure]


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    return [tmp_path / "one", tmp_path / "other"]


def caught_up(broker: Broker) -> LogDirectory:
    """Begin a move from the first root, and wait until the copy has caught up; return its source."""
    source, target = broker.directories.roots
    source.create(ORDERS, topic_id=TOPIC).append([b"one"])
    broker.take(registered(ME), registered(OTHER, 9_093), *placed(FIRST))
    assert broker.replicas.moves.ask(ORDERS, str(target.root)) is ErrorCode.NONE
    deadline = time.monotonic() + 20
    while not broker.replicas.moves.caught_up():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    broker.replicas.move_on()
    assert broker.replicas.unassigned == {PartitionId(TOPIC, 0): SECOND}
    return source


@pytest.mark.parametrize("is_told", [True, False])
def test_a_disk_that_fails_before_a_move_is_made_has_the_log_whatever_the_metadata_was_told(
    roots: list[Path], *, is_told: bool
) -> None:
    with opened(*roots) as broker:
        source = caught_up(broker)
        if is_told:
            broker.replicas.unassigned.clear()
            broker.take(changed(directories=(SECOND, ELSEWHERE)))
        source._disk.fail(BROKEN)
        assert broker.replicas.notice_failures() == {FIRST}
        assert broker.replicas.unassigned == {PartitionId(TOPIC, 0): FIRST}
        broker.take(changed(isr=(ME,)))
        assert_offline(broker)
        broker.take(changed(leader=OTHER))
        assert_offline(broker)


def test_a_log_that_cannot_be_read_is_not_replaced_in_another_root(roots: list[Path], tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    for root in roots:
        root.mkdir()
    (roots[0] / "orders-0").symlink_to(tmp_path / "log")
    with opened(*roots) as broker:
        assert list(broker.directories.roots[0].unreadable) == [ORDERS]
        broker.take(registered(ME), registered(OTHER), *placed(SECOND))
        assert broker.replicas.hosted.offline == {ORDERS}
        assert not (roots[1] / "orders-0").exists()


def test_a_copy_takes_no_place_while_a_disk_is_missing_that_may_have_the_log(roots: list[Path]) -> None:
    missing, present = roots
    with LogDirectory.open(present, replicated=True) as directory:
        directory.futures.open(ORDERS, TOPIC).append([b"older"])
    missing.write_bytes(b"no directory")
    with opened(*roots) as broker:
        assert list(broker.directories.offline) == [missing]
        broker.take(registered(ME), registered(OTHER), *placed(FIRST))
        assert_offline(broker)
        assert list(broker.directories.roots[0].futures.found) == [ORDERS]


@pytest.mark.parametrize("directory", [FIRST, UNASSIGNED_DIRECTORY])
@pytest.mark.parametrize("is_joining", [True, False])
def test_what_comes_to_be_here_is_made_although_a_disk_is_missing(
    roots: list[Path], directory: UUID, *, is_joining: bool
) -> None:
    """Nothing of it can lie on the other: a replica that joins, a partition of a topic that is known."""
    roots[0].write_bytes(b"no directory")
    with opened(*roots) as broker:
        broker.take(registered(ME), registered(OTHER, 9_093), *made(OTHER, OTHER))
        if is_joining:
            broker.take(changed(replicas=(OTHER, ME), adding_replicas=(ME,), directories=(ELSEWHERE, directory)))
        else:
            (_, record) = placed(directory)
            assert isinstance(record, PartitionRecord)
            broker.take(replace(record, partition_id=1))
        assert not broker.replicas.hosted.offline
        (hosted,) = broker.replicas.hosted.values()
        assert isinstance(hosted.log, Log)
        assert hosted.log.directory.parent == roots[1]
