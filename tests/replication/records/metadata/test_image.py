"""What replaying records gives: rebuilt from the log or from its own records it is the same image."""

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.errors import InvalidReplayError
from replication.records.metadata.framing import decode, encode
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.metadata_version import MetadataVersion
from replication.records.metadata.partition import LeaderRecoveryState, PartitionRegistration
from replication.records.metadata.records import (
    MIGRATING_DIRECTORY,
    NO_LEADER,
    UNASSIGNED_DIRECTORY,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FenceBrokerRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
)
from tests.replication.records.metadata.histories import history

TOPIC = UUID(int=5)
OTHER = UUID(int=6)
FIRST, SECOND, THIRD = (UUID(int=number) for number in (101, 102, 103))
PARTITION = PartitionRecord(
    partition_id=0,
    topic_id=TOPIC,
    replicas=(1, 2),
    isr=(1, 2),
    leader=1,
    leader_epoch=4,
    partition_epoch=9,
    directories=(FIRST, SECOND),
)


def change(**fields: object) -> PartitionChangeRecord:
    return PartitionChangeRecord(partition_id=0, topic_id=TOPIC, **fields)  # type: ignore[arg-type]


def image_of(*records: MetadataRecord) -> ClusterImage:
    image = ClusterImage()
    image.replay_all(records)
    return image


@given(st.integers())
@settings(max_examples=50)
def test_records_that_went_through_bytes_give_the_same_image(seed: int) -> None:
    made = history(seed, steps=60)
    assert image_of(*(decode(encode(record)) for record in made.records)) == made.image


@given(st.integers())
@settings(max_examples=50)
def test_an_images_own_records_give_the_same_image(seed: int) -> None:
    made = history(seed, steps=60)
    level = made.image.metadata_version
    assert image_of(*(decode(encode(record, level)) for record in made.image.records())) == made.image


@given(st.integers(), st.sampled_from(MetadataVersion))
@settings(max_examples=50)
def test_an_image_can_be_said_at_every_level_of_metadata_version(seed: int, level: MetadataVersion) -> None:
    image = history(seed, steps=60).image
    image.features["metadata.version"] = level
    again = image_of(*(decode(encode(record, level)) for record in image.records()))
    states = [(topic.name, number, state.isr, state.leader) for topic, number, state in again.topics.partitions()]
    assert states == [
        (topic.name, number, state.isr, state.leader) for topic, number, state in image.topics.partitions()
    ]
    assert {each.id: each.epoch for each in again.brokers.values()} == {
        each.id: each.epoch for each in image.brokers.values()
    }


@pytest.mark.parametrize(
    ("fields", "leader_epoch"),
    [
        ({"isr": (1,)}, 4),
        ({"leader": 2}, 5),
        ({"leader": 1}, 5),
        ({"leader": NO_LEADER}, 5),
        ({"leader_recovery_state": LeaderRecoveryState.RECOVERING}, 4),
    ],
)
def test_each_change_moves_the_partition_epoch_and_a_named_leader_the_leader_epoch(
    fields: dict[str, object], leader_epoch: int
) -> None:
    before = PartitionRegistration.of(PARTITION)
    after = before.changed(change(**fields))
    assert (after.partition_epoch, after.leader_epoch) == (10, leader_epoch)
    assert {name: getattr(after, name) for name in fields} == fields
    assert after.replicas == before.replicas


def test_who_changes_the_replicas_names_their_directories_too() -> None:
    moved = PartitionRegistration.of(PARTITION).changed(
        change(replicas=(2, 3), directories=(SECOND, UNASSIGNED_DIRECTORY))
    )
    assert (moved.directory_of(2), moved.directory_of(3)) == (SECOND, UNASSIGNED_DIRECTORY)


def test_a_partition_placed_before_directories_had_ids_is_migrating() -> None:
    old = PartitionRecord(
        partition_id=0, topic_id=TOPIC, replicas=(1, 2), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0
    )
    placed = PartitionRegistration.of(old)
    assert placed.directories == (MIGRATING_DIRECTORY, MIGRATING_DIRECTORY)
    assert placed.changed(change(replicas=(3,))).directories == (MIGRATING_DIRECTORY,)


@pytest.mark.parametrize("wrong", [{"directories": (FIRST,)}, {"replicas": (1,)}, {"leader_recovery_state": 2}])
def test_a_change_that_contradicts_itself_is_refused(wrong: dict[str, object]) -> None:
    image = image_of(TopicRecord(name="orders", topic_id=TOPIC), PARTITION)
    with pytest.raises(InvalidReplayError, match="PARTITION_CHANGE_RECORD does not follow"):
        image.replay(change(**wrong))
    assert image.topics.partition(TOPIC, 0) == PartitionRegistration.of(PARTITION)


def test_a_removed_topic_takes_its_partitions_and_settings_along() -> None:
    setting = ConfigRecord(
        resource_type=ConfigResourceType.TOPIC, resource_name="orders", name="retention.ms", value="1"
    )
    image = image_of(TopicRecord(name="orders", topic_id=TOPIC), PARTITION, setting)
    assert image.configurations.of(ConfigResourceType.TOPIC, "orders") == {"retention.ms": "1"}
    image.replay(RemoveTopicRecord(topic_id=TOPIC))
    assert image == ClusterImage()


def test_a_topic_made_again_is_another_one() -> None:
    made, removed = TopicRecord(name="orders", topic_id=TOPIC), RemoveTopicRecord(topic_id=TOPIC)
    image = image_of(made, PARTITION, removed, TopicRecord(name="orders", topic_id=OTHER))
    assert image.topics.by_name["orders"].id == OTHER
    assert not image.topics.by_name["orders"].partitions


def test_forgotten_eligible_leaders_move_the_partition_epoch_of_those_that_had_any() -> None:
    with_elr = change(isr=(), eligible_leader_replicas=(1, 2), last_known_elr=(1,))
    image = image_of(TopicRecord(name="orders", topic_id=TOPIC), PARTITION, with_elr)
    for _ in range(2):
        image.replay(ClearElrRecord())
        state = image.topics.partition(TOPIC, 0)
        assert (state.elr, state.last_known_elr, state.partition_epoch) == ((), (), 11)


def test_a_controller_is_registered_until_it_is_unregistered() -> None:
    image = image_of(RegisterControllerRecord(controller_id=102, incarnation_id=FIRST))
    assert set(image.controllers) == {102}
    for _ in range(2):  # Kafka: nor does ClusterDelta look whether it is there
        image.replay(UnregisterControllerRecord(controller_id=102))
        assert image == image_of()


def test_a_broker_is_active_unless_fenced_or_shutting_down() -> None:
    registered = RegisterBrokerRecord(broker_id=1, incarnation_id=FIRST, broker_epoch=7)
    image = image_of(registered)
    seen = [image.brokers[1].is_active]
    for said in ({"fenced": -1}, {"in_controlled_shutdown": 1}, {"fenced": 1}):
        image.replay(BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, **said))
        seen.append(image.brokers[1].is_active)
    assert seen == [False, True, False, False]


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (change(leader=1), "no topic has the id AAAAAAAAAAAAAAAAAAAABQ"),
        (RemoveTopicRecord(topic_id=TOPIC), "no topic has the id"),
        (ClearElrRecord(topic_name="orders"), "there is no topic orders"),
        (FenceBrokerRecord(id=1, epoch=1), "broker 1 is not registered"),
        (FenceBrokerRecord(id=2, epoch=1), "broker 2 is registered in epoch 7, not 1"),
        (UnregisterBrokerRecord(broker_id=1, broker_epoch=1), "broker 1 is not registered"),
        (BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=7, fenced=2), "fenced is 2"),
        (RemoveAccessControlEntryRecord(id=TOPIC), "there is no access control entry"),
        (TopicRecord(name="known", topic_id=TOPIC), "there is already a topic known"),
        (BeginTransactionRecord(), "it concerns other records"),
    ],
)
def test_what_does_not_follow_from_the_records_before_is_refused_and_changes_nothing(
    record: MetadataRecord, told: str
) -> None:
    known = (
        TopicRecord(name="known", topic_id=OTHER),
        RegisterBrokerRecord(broker_id=2, incarnation_id=FIRST, broker_epoch=7),
    )
    image = image_of(*known)
    with pytest.raises(InvalidReplayError, match=told) as caught:
        image.replay(record)
    assert record.type_name() in str(caught.value)
    assert image == image_of(*known)


def test_partitions_on_the_same_directories_share_them() -> None:
    image = image_of(TopicRecord(name="orders", topic_id=TOPIC))
    for number in range(2):
        directories = (UUID(int=101), UUID(int=102))
        image.replay(
            PartitionRecord(
                partition_id=number,
                topic_id=TOPIC,
                replicas=(1, 2),
                isr=(1, 2),
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
                directories=directories,
            )
        )
    first, second = (image.topics.partition(TOPIC, number) for number in range(2))
    assert first.directories is second.directories
    assert first.isr is first.replicas
