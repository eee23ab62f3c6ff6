"""A replica whose directory is none of the log.dirs any more begins anew where that cannot lose what others hold."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from logstore import Log
from logstore.files.partition_metadata import format_uuid
from replication.cluster.broker.events.partition_events import ReplicaLost
from replication.records.metadata.image_changes import PartitionId
from replication.records.metadata.records import MetadataRecord, PartitionRecord
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

FIRST, GONE, ELSEWHERE = UUID(int=1_001), UUID(int=40), UUID(int=50)
NOBODY = -1


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    return [tmp_path / "one", tmp_path / "other"]


@contextmanager
def started(roots: list[Path], *records: MetadataRecord, remakes_only: bool = True) -> Iterator[Broker]:
    """Start a broker whose metadata is there already."""
    broker = Broker(*roots, remakes_only=remakes_only)
    try:
        broker.take(registered(ME), registered(OTHER, 9_093), *records)
        yield broker
    finally:
        broker.replicas.close()
        broker.directories.close()


def lay_in(directory: UUID, *replicas: int, leader: int, **fields: tuple[int, ...]) -> list[MetadataRecord]:
    topic, first = made(leader, *replicas)
    assert isinstance(first, PartitionRecord)
    directories = tuple(directory if each == ME else ELSEWHERE for each in replicas)
    return [topic, replace(first, directories=directories, **fields)]  # type: ignore[arg-type]


def lost(broker: Broker) -> list[ReplicaLost]:
    return [event for event in broker.told if isinstance(event, ReplicaLost)]


def is_made(broker: Broker) -> bool:
    hosted = broker.replicas.hosted.get(ORDERS)
    assert (hosted is None) is (broker.replicas.hosted.offline == {ORDERS})
    assert (hosted is not None) is any((root.root / "orders-0").exists() for root in broker.directories.roots)
    return hosted is not None


def test_it_follows_anew_and_says_where_it_lies(roots: list[Path]) -> None:
    with started(roots, *lay_in(GONE, OTHER, ME, leader=OTHER, isr=(OTHER,))) as broker:
        assert is_made(broker)
        assert ORDERS in broker.fetchers.leaders
        assert broker.replicas.unassigned == {PartitionId(TOPIC, 0): FIRST}
        assert not broker.replicas.has_lost_tail
        assert lost(broker) == [
            ReplicaLost(partition=ORDERS, leader_epoch=0, lost=format_uuid(GONE), root=str(roots[0]), is_only=False)
        ]


def test_it_is_told_of_once(roots: list[Path]) -> None:
    records = lay_in(GONE, OTHER, ME, leader=OTHER, isr=(OTHER,))
    with started(roots, *records) as broker:
        broker.take(changed(leader=OTHER))
        assert len(lost(broker)) == 1
    with started(roots, *records) as broker:
        assert is_made(broker)
        assert not lost(broker)
        assert broker.replicas.unassigned == {PartitionId(TOPIC, 0): FIRST}


@pytest.mark.parametrize(
    ("leader", "isr", "elr", "is_counted_on"),
    [
        (ME, (ME,), (), True),
        (ME, (ME, OTHER), (), True),
        (OTHER, (OTHER, ME), (), True),
        (OTHER, (OTHER,), (ME,), True),
        (NOBODY, (ME,), (), True),
        (NOBODY, (), (ME,), True),
        (NOBODY, (), (), False),
        (NOBODY, (OTHER,), (), False),
    ],
)
def test_one_that_might_be_elected_for_what_it_held_waits_until_it_follows_another(
    roots: list[Path], leader: int, isr: tuple[int, ...], elr: tuple[int, ...], is_counted_on: bool
) -> None:
    """In an ISR, eligible (KIP-966), or the last known leader of a partition that nobody leads."""
    records = lay_in(GONE, ME, OTHER, leader=leader, isr=isr, eligible_leader_replicas=elr)
    with started(roots, *records) as broker:
        assert not is_made(broker)
        assert broker.replicas.has_lost_tail is is_counted_on
        assert not broker.replicas.unassigned
        assert not lost(broker)
        broker.take(changed(leader=OTHER, isr=(OTHER,), eligible_leader_replicas=()))
        assert is_made(broker)
        assert ORDERS in broker.fetchers.leaders
        assert not broker.replicas.has_lost_tail
        assert len(lost(broker)) == 1


def test_the_only_one_leads_empty_as_in_kafka(roots: list[Path]) -> None:
    with started(roots, *lay_in(GONE, ME, leader=NOBODY)) as broker:
        assert is_made(broker)
        assert [event.is_only for event in lost(broker)] == [True]
        broker.take(changed(leader=ME, directories=(FIRST,)))
        assert broker.led()


def test_the_only_one_is_offline_where_nobody_has_said_that_its_directory_is_gone(roots: list[Path]) -> None:
    with started(roots, *lay_in(GONE, ME, leader=NOBODY), remakes_only=False) as broker:
        assert not is_made(broker)
        assert "or delete the topic" in broker.told[-1].why  # type: ignore[union-attr]
        assert not broker.replicas.has_lost_tail


def test_the_only_one_waits_where_a_move_has_left_some_of_it(roots: list[Path]) -> None:
    with started(roots, *lay_in(FIRST, ME, leader=ME)) as broker:
        log = broker.directories.get(ORDERS)
        assert log is not None
        held = log.directory
    copy = roots[1] / f"orders-0.{'a' * 32}-future"
    shutil.move(held, copy)
    with started(roots, *lay_in(GONE, ME, leader=NOBODY)) as broker:
        assert not is_made(broker)
        assert lost(broker) == []
        assert f"{copy} is what was copied" in broker.told[-1].why  # type: ignore[union-attr]
    shutil.move(copy, roots[1] / "orders-0")
    with started(roots, *lay_in(GONE, ME, leader=NOBODY)) as broker:
        assert is_made(broker)
        assert lost(broker) == []


def test_none_is_made_while_a_directory_is_offline(roots: list[Path]) -> None:
    """The log may lie there."""
    roots[0].write_bytes(b"no directory")
    with started(roots, *lay_in(GONE, OTHER, ME, leader=OTHER, isr=(OTHER,))) as broker:
        assert broker.replicas.hosted.offline == {ORDERS}
        assert not (roots[1] / "orders-0").exists()
        assert "format an empty directory in its place" in broker.told[-1].why  # type: ignore[union-attr]


def test_no_directory_counts_as_gone_while_one_is_offline(roots: list[Path]) -> None:
    """Neither for a replica that is counted on, nor for one that is to lie there as a new one."""
    roots[0].write_bytes(b"no directory")
    records = lay_in(GONE, OTHER, ME, leader=OTHER)
    with started(roots, *records) as broker:
        assert "is offline; put its disk back" in broker.told[-1].why  # type: ignore[union-attr]
        assert not broker.replicas.has_lost_tail
        (_, first) = records
        assert isinstance(first, PartitionRecord)
        broker.take(replace(first, partition_id=1))
        assert len(broker.replicas.hosted.offline) == 2


def test_none_is_made_where_a_log_cannot_be_read(roots: list[Path], tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    roots[0].mkdir()
    (roots[0] / "orders-0").symlink_to(tmp_path / "log")
    with started(roots, *lay_in(GONE, OTHER, ME, leader=OTHER, isr=(OTHER,))) as broker:
        assert broker.replicas.hosted.offline == {ORDERS}
        assert not (roots[1] / "orders-0").exists()


def test_the_directory_that_comes_back_is_set_aside_once_the_replica_lies_elsewhere(roots: list[Path]) -> None:
    earlier = roots[1]
    with started([earlier], *lay_in(FIRST, OTHER, ME, leader=OTHER)) as broker:
        log = broker.directories.get(ORDERS)
        assert isinstance(log, Log)
        log.append([b"before"])
    with started(roots[:1], *lay_in(GONE, OTHER, ME, leader=OTHER, isr=(OTHER,))) as broker:
        assert is_made(broker)
    with started(roots, *lay_in(FIRST, OTHER, ME, leader=OTHER)) as broker:
        assert is_made(broker)
        assert broker.replicas.hosted[ORDERS].log.directory.parent == roots[0]
        assert len(list(earlier.glob("orders-0.*-stray"))) == 1
