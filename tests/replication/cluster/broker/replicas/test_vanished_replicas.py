"""A replica that vanished from one disk of several is missed also where another disk is offline, and may have it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from logstore import Log, TopicPartition
from replication.cluster.broker.events.partition_events import ReplicaShort, RoleChanged, Standing
from replication.records.metadata.records import MetadataRecord, PartitionRecord, TopicRecord
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

NOBODY = -1
RECORDS = 5
HERE, ELSEWHERE = UUID(int=1_001), UUID(int=50)
"""Directories' ids: of the first root, and another broker's."""
ALONE = changed(leader=NOBODY, isr=(ME,))
LED = changed(leader=OTHER, isr=(OTHER,))


class Disks:
    """Two disks of a broker; of the first one all is gone that it had, and the second one can be unplugged."""

    def __init__(self, at: Path) -> None:
        self.first, self.second, self._unplugged = at / "first", at / "second", at / "unplugged"

    def unplug(self) -> None:
        self.second.rename(self._unplugged)
        self.second.write_bytes(b"no directory")

    def plug_in(self) -> None:
        self.second.unlink()
        self._unplugged.rename(self.second)

    @contextmanager
    def started(self, *records: MetadataRecord, accepted: bool = False) -> Iterator[Broker]:
        """Start a broker whose metadata is there already."""
        broker = Broker(self.first, self.second, accepted_losses=[ORDERS] if accepted else [])
        try:
            broker.take(registered(ME), registered(OTHER, 9_093), *here(), *records)
            yield broker
        finally:
            broker.replicas.close()
            broker.directories.close()


@pytest.fixture
def disks(tmp_path: Path) -> Disks:
    disks = Disks(tmp_path)
    with disks.started() as broker:
        broker.directories.log(ORDERS).append([b"paid"] * RECORDS, leader_epoch=0)
    shutil.rmtree(disks.first)
    disks.first.mkdir()
    disks.unplug()
    return disks


def here() -> list[MetadataRecord]:
    topic, first = made(ME, ME, OTHER)
    assert isinstance(first, PartitionRecord)
    return [topic, replace(first, directories=(HERE, ELSEWHERE))]


def new_topic() -> list[MetadataRecord]:
    topic, first = here()
    assert isinstance(topic, TopicRecord)
    assert isinstance(first, PartitionRecord)
    id_ = UUID(int=TOPIC.int + 1)
    return [replace(topic, name="bills", topic_id=id_), replace(first, topic_id=id_)]


def standings(broker: Broker) -> list[Standing]:
    return [event.standing for event in broker.told if isinstance(event, ReplicaShort)]


def why(broker: Broker) -> str:
    return [event.why for event in broker.told if isinstance(event, RoleChanged)][-1]


def test_it_is_withheld_and_the_disk_is_named_that_may_have_it(disks: Disks) -> None:
    with disks.started(ALONE) as broker:
        assert list(broker.directories.offline) == [disks.second]
        assert broker.replicas.are_withheld
        assert standings(broker) == [Standing.WITHHELD]
        assert f"it may lie in {disks.second} instead, which is offline" in why(broker)


@pytest.mark.parametrize("plugged_in", [True, False])
def test_a_later_start_misses_it_though_its_root_has_checkpoint_files_again(disks: Disks, *, plugged_in: bool) -> None:
    with disks.started(ALONE) as broker:
        broker.take(*new_topic())
        assert TopicPartition("bills", 0) in broker.directories.partitions
    if plugged_in:
        disks.plug_in()
    with disks.started(ALONE, *new_topic()) as broker:
        assert all(root.has_all_checkpoint_files for root in broker.directories.roots)
        assert broker.replicas.are_withheld
        assert standings(broker) == [Standing.WITHHELD]
        assert broker.directories.get(ORDERS) is None


def test_it_leads_once_the_disk_is_back_that_had_it(disks: Disks) -> None:
    disks.plug_in()
    with Log.open(disks.second / str(ORDERS), replicated=True) as log:
        log.append([b"paid"] * RECORDS, leader_epoch=0)
    disks.unplug()
    with disks.started(ALONE) as broker:
        assert broker.replicas.are_withheld
    disks.plug_in()
    for _ in range(2):
        with disks.started(changed(leader=ME, isr=(ME,))) as broker:
            assert not broker.replicas.are_withheld
            assert not standings(broker)
            assert broker.led()
            assert broker.directories.log(ORDERS).log_end_offset == RECORDS


def test_it_is_not_forgotten_before_a_log_takes_its_place(disks: Disks) -> None:
    """Elected uncleanly by then, it would lead with nothing."""
    with disks.started(LED) as broker:
        assert not broker.replicas.are_withheld
        assert not standings(broker)
        assert broker.replicas.hosted.offline == {ORDERS}
    disks.plug_in()
    with disks.started(changed(leader=ME, isr=(ME,))) as broker:
        assert standings(broker) == [Standing.WITHHELD]
        assert not broker.led()
        broker.take(LED)
        assert standings(broker) == [Standing.WITHHELD, Standing.USED]
        assert ORDERS in broker.fetchers.leaders


def test_one_that_was_withheld_is_not_any_more_once_another_leads(disks: Disks) -> None:
    with disks.started(ALONE) as broker:
        broker.take(LED)
        assert not broker.replicas.are_withheld
        assert broker.replicas.hosted.offline == {ORDERS}


def test_a_loss_is_accepted_only_once_no_disk_can_have_it(disks: Disks) -> None:
    with disks.started(ALONE, accepted=True) as broker:
        assert not broker.replicas.are_withheld
        assert broker.directories.get(ORDERS) is None
    disks.plug_in()
    with disks.started(ALONE) as broker:
        assert broker.replicas.are_withheld
    with disks.started(changed(leader=ME, isr=(ME,)), accepted=True) as broker:
        assert standings(broker) == [Standing.ACCEPTED]
        assert broker.led()
