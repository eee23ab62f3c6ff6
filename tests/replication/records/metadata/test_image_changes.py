"""Whoever looks only at what changed misses nothing."""

import random
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from replication.records.metadata.configurations import ConfigResource, ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_changes import ChangeNotes, ImageChanges, PartitionId
from replication.records.metadata.records import (
    ClearElrRecord,
    ConfigRecord,
    FenceBrokerRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tests.replication.records.metadata.histories import History

ORDERS = UUID(int=7)


def partition(number: int, elr: tuple[int, ...] | None) -> PartitionRecord:
    return PartitionRecord(
        partition_id=number,
        topic_id=ORDERS,
        replicas=(1,),
        isr=(1,),
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        eligible_leader_replicas=elr,
    )


RECORDS = [
    TopicRecord(name="orders", topic_id=ORDERS),
    partition(0, elr=(2,)),
    partition(1, elr=None),
    ConfigRecord(resource_type=ConfigResourceType.TOPIC, resource_name="orders", name="retention.ms", value="1"),
    RegisterBrokerRecord(broker_id=4, broker_epoch=5, incarnation_id=ORDERS),
]


def noted(image: ClusterImage, *records: MetadataRecord) -> ImageChanges:
    notes = ChangeNotes()
    for record in records:
        notes.note(record, image)
        image.replay(record)
    return notes.changes()


def image_of_orders() -> ClusterImage:
    made = ClusterImage()
    made.replay_all(RECORDS)
    return made


@given(st.integers(0, 2**32))
def test_all_in_which_two_images_differ_was_noted_on_the_way(seed: int) -> None:
    chance = random.Random(seed)
    history = History(chance)
    history.go_on(60)
    replayed, left = ClusterImage(), list(history.records)
    while left:
        size = chance.randrange(1, 10)
        before = replayed.frozen()
        changes = noted(replayed, *left[:size])
        del left[:size]
        differing = ImageChanges.between(before, replayed)
        assert differing.topics <= changes.topics
        assert differing.partitions <= changes.partitions
        assert differing.brokers <= changes.brokers
        assert differing.configurations <= changes.configurations


@given(st.integers(0, 2**32))
def test_from_nothing_all_has_changed(seed: int) -> None:
    history = History(random.Random(seed))
    history.go_on(40)
    changes = ImageChanges.between(ClusterImage(), history.image)
    partitions = {PartitionId(topic.id, number) for topic, number, _ in history.image.topics.partitions()}
    assert changes == ImageChanges(
        frozenset(history.image.topics.by_id),
        frozenset(partitions),
        frozenset(history.image.brokers),
        frozenset(history.image.configurations.by_resource),
    )
    assert not ImageChanges.between(history.image, history.image.frozen())


def test_each_change_is_named() -> None:
    assert noted(ClusterImage(), *RECORDS) == ImageChanges(
        frozenset({ORDERS}),
        frozenset({PartitionId(ORDERS, 0), PartitionId(ORDERS, 1)}),
        frozenset({4}),
        frozenset({ConfigResource(ConfigResourceType.TOPIC, "orders")}),
    )
    assert noted(image_of_orders(), FenceBrokerRecord(id=4, epoch=5)) == ImageChanges(brokers=frozenset({4}))
    assert not noted(image_of_orders(), NoOpRecord())


def test_a_topic_takes_its_partitions_and_configuration_with_it() -> None:
    assert noted(image_of_orders(), RemoveTopicRecord(topic_id=ORDERS)) == ImageChanges(
        frozenset({ORDERS}),
        frozenset({PartitionId(ORDERS, 0), PartitionId(ORDERS, 1)}),
        configurations=frozenset({ConfigResource(ConfigResourceType.TOPIC, "orders")}),
    )


def test_only_partitions_with_eligible_leader_replicas_lose_them() -> None:
    only_first = ImageChanges(partitions=frozenset({PartitionId(ORDERS, 0)}))
    assert noted(image_of_orders(), ClearElrRecord(topic_name="orders")) == only_first
    assert noted(image_of_orders(), ClearElrRecord()) == only_first


def test_changes_add_up() -> None:
    first, second = (
        ImageChanges(brokers=frozenset({1})),
        ImageChanges(brokers=frozenset({2}), topics=frozenset({ORDERS})),
    )
    assert ImageChanges.union([first, second]) == ImageChanges(frozenset({ORDERS}), brokers=frozenset({1, 2}))
    assert not ImageChanges.union([])
