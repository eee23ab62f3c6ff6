"""What the metadata's log tells of partitions: their topics' ids, and who led alone in sync."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from uuid import UUID

import pytest

from logstore.files.partition_metadata import format_uuid
from logstore.log.log import Log
from logstore.topic_partition import TopicPartition
from replication.copies.audit.snapshots.leaderships import Leaderships
from replication.copies.audit.snapshots.newest_metadata import newest_metadata
from replication.copies.audit.snapshots.registered import Registered
from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.metadata_log import append_metadata
from replication.records.metadata.records import (
    ConfigRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)

TOPIC_ID = UUID(int=7)
T0 = TopicPartition("t", 0)
MADE: list[MetadataRecord] = [
    TopicRecord(name="t", topic_id=TOPIC_ID),
    PartitionRecord(
        partition_id=0, topic_id=TOPIC_ID, replicas=(1, 2), isr=(1, 2), leader=1, leader_epoch=0, partition_epoch=0
    ),
]


def change(isr: tuple[int, ...], leader: int | None = None) -> PartitionChangeRecord:
    """A new leader begins a new epoch."""
    said = {} if leader is None else {"leader": leader}
    return PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=isr, **said)


def registered(place: Path, records: Sequence[MetadataRecord]) -> Registered:
    with Log.open(place / "__cluster_metadata-0") as log:
        for record in [*MADE, *records]:
            append_metadata(log, [record], leader_epoch=1)
    newest = newest_metadata([nullcontext(place / "__cluster_metadata-0")])
    assert newest is not None
    return newest.registrations({1: "broker-1", 2: "broker-2"})[T0]


@pytest.mark.parametrize(
    ("records", "alone"),
    [
        ([], {}),
        ([change((1,))], {"broker-1": 0}),
        ([change((1,)), change((1, 2))], {}),
        ([change((1,)), change((1,), -1), change((2,), 2), change((1, 2))], {"broker-1": 0}),
        ([change((1,)), change((1,), -1), change((2,), 2)], {"broker-1": 0, "broker-2": 2}),
        ([change((2,), 2), change((1,), 1)], {"broker-2": 1, "broker-1": 2}),
    ],
    ids=["never", "by now", "no longer in that epoch", "before another led", "each", "in turns"],
)
def test_who_ended_an_epoch_alone_in_sync(tmp_path: Path, records: list[MetadataRecord], alone: dict[str, int]) -> None:
    told = registered(tmp_path, records)
    assert told == Registered(format_uuid(TOPIC_ID), alone, told.successions, is_tiered=False)


def registration(broker: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker, incarnation_id=UUID(int=broker), broker_epoch=9, end_points=(), features=(), rack=None
    )


@pytest.mark.parametrize(
    ("records", "ranges"),
    [
        ([], [(0, 0)]),
        ([change((2,), 2)], [(0, 1)]),
        ([change((2,), 2), change((1, 2)), change((1,), 1)], [(0, 2)]),
        ([change((1,)), change((2,), 2)], [(0, 0), (1, 1)]),
        ([change((2,), -1), change((2,), 2)], [(0, 1), (2, 2)]),
        ([registration(2), change((2,), 2)], [(0, 0), (1, 1)]),
        ([registration(2), change((1,)), change((1, 2)), change((2,), 2)], [(0, 1)]),
        ([change((1,), 1), change((1,), 1)], [(0, 2)]),
        ([registration(1), change((1,), 1)], [(0, 0), (1, 1)]),
    ],
    ids=[
        "the first",
        "another in sync",
        "back again",
        "uncleanly",
        "after nobody led",
        "after it has come anew",
        "after it has come anew, and in sync since",
        "the same",
        "the same, which has come anew",
    ],
)
def test_who_takes_over_in_sync_and_has_run_since_has_all_that_was_committed(
    tmp_path: Path, records: list[MetadataRecord], ranges: list[tuple[int, int]]
) -> None:
    assert [*registered(tmp_path, records).successions] == ranges


def test_what_a_snapshot_says_counts_too() -> None:
    image = ClusterImage()
    for record in [*MADE, change((1,))]:
        image.replay(record)
    seen = Leaderships()
    seen.begin(image)
    assert (seen.alone, seen.successions) == ({(TOPIC_ID, 0): {1: 0}}, {(TOPIC_ID, 0): [(0, 0)]})


def test_a_topic_has_remote_storage_where_its_settings_say_so(tmp_path: Path) -> None:
    setting = ConfigRecord(resource_type=2, resource_name="t", name="remote.storage.enable", value="true")
    assert registered(tmp_path, [setting]).is_tiered


@pytest.mark.parametrize("resource", [(ConfigResourceType.TOPIC, "t"), (ConfigResourceType.BROKER, "")])
def test_a_leader_alone_acknowledges_nothing_where_more_have_to_be_in_sync(
    tmp_path: Path, resource: tuple[int, str]
) -> None:
    type_, name = resource
    setting = ConfigRecord(resource_type=type_, resource_name=name, name="min.insync.replicas", value="2")
    assert registered(tmp_path, [setting, change((1,))]).alone == {}
