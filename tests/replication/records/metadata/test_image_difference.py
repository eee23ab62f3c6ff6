"""Two images' differences are all that one says and another does not, and no more."""

import random
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_difference import HIDDEN, Change, Difference, Subject, image_differences
from replication.records.metadata.metadata_log import read_metadata
from replication.records.metadata.records import (
    NO_LEADER,
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    Endpoint,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    QuotaEntity,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from replication.records.metadata.transactions import committed
from tests.replication.records.metadata.histories import History

KEPT = Path(__file__).parents[3] / "data/metadata/__cluster_metadata-0"
ORDERS, OTHER = UUID(int=7), UUID(int=8)


def image_of(*records: MetadataRecord) -> ClusterImage:
    made = ClusterImage()
    made.replay_all(records)
    return made


def between(before: ClusterImage, after: ClusterImage) -> list[Difference]:
    return list(image_differences(before, after))


def partition(number: int, topic_id: UUID = ORDERS) -> PartitionRecord:
    return PartitionRecord(
        partition_id=number, topic_id=topic_id, replicas=(1, 2), isr=(1, 2), leader=1, leader_epoch=4, partition_epoch=9
    )


def topic(topic_id: UUID = ORDERS, partitions: int = 1) -> list[MetadataRecord]:
    return [
        TopicRecord(name="orders", topic_id=topic_id),
        *(partition(number, topic_id) for number in range(partitions)),
    ]


def setting(name: str, value: str, kind: int = ConfigResourceType.TOPIC, resource: str = "orders") -> ConfigRecord:
    return ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)


def entry(**changed: object) -> AccessControlEntryRecord:
    made = AccessControlEntryRecord(
        id=UUID(int=1),
        resource_type=2,
        resource_name="orders",
        pattern_type=3,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    return replace(made, **changed)  # type: ignore[arg-type]  # any of its fields


def credential(**changed: object) -> UserScramCredentialRecord:
    made = UserScramCredentialRecord(
        name="alice", mechanism=2, salt=b"salt", stored_key=b"stored", server_key=b"server", iterations=4096
    )
    return replace(made, **changed)  # type: ignore[arg-type]  # as above


def comparable(image: ClusterImage) -> tuple[object, ...]:
    """An image without what no reader misses: the ids of access control entries, of which several may say the same."""
    entries = {replace(each, id=UUID(int=0)) for each in image.access_control_entries.values()}
    return replace(image, access_control_entries={}), entries


@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(0, 30), st.integers(0, 30))
def test_images_that_differ_have_differences_and_equal_ones_none(
    seed: int, common: int, first: int, second: int
) -> None:
    images = []
    for steps, tail in ((first, seed + 1), (second, seed + 2)):
        history = History(random.Random(seed))
        history.go_on(common)
        history._chance = random.Random(tail)  # where the two part
        history.go_on(steps)
        images.append(history.image)
    before, after = images
    found = between(before, after)
    assert bool(found) == (comparable(before) != comparable(after))
    mirrored = {(each.subject, each.name, each.change) for each in between(after, before)}
    opposite = {Change.ADDED: Change.REMOVED, Change.REMOVED: Change.ADDED, Change.CHANGED: Change.CHANGED}
    assert {(each.subject, each.name, opposite[each.change]) for each in found} == mirrored
    assert len({(each.subject, each.name, str(each.before)) for each in found}) == len(found)


@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(1, 30))
def test_what_a_longer_history_adds_is_removed_by_going_back(seed: int, common: int, more: int) -> None:
    history = History(random.Random(seed))
    history.go_on(common)
    earlier = history.image.frozen()
    history.go_on(more)
    topics = {each.name for each in between(earlier, history.image) if each.subject is Subject.TOPIC}
    assert topics >= earlier.topics.by_name.keys() ^ history.image.topics.by_name.keys()


def test_a_topic_stands_for_its_partitions_and_settings() -> None:
    after = image_of(*topic(partitions=3), setting("retention.ms", "1"))
    (found,) = between(ClusterImage(), after)
    assert (found.subject, found.name, found.change) == (Subject.TOPIC, "orders", Change.ADDED)
    assert found.after == {"topic_id": "AAAAAAAAAAAAAAAAAAAABw", "partitions": 3}


def test_a_topic_that_was_made_again_under_its_name_has_another_id() -> None:
    (found,) = between(image_of(*topic()), image_of(*topic(OTHER)))
    assert found.before == {"topic_id": "AAAAAAAAAAAAAAAAAAAABw"}
    assert found.after == {"topic_id": "AAAAAAAAAAAAAAAAAAAACA"}


def test_a_partition_says_what_became_of_its_leader_and_isr() -> None:
    after = image_of(*topic(), PartitionChangeRecord(partition_id=0, topic_id=ORDERS, leader=2, isr=(2,)))
    (found,) = between(image_of(*topic()), after)
    assert (found.subject, found.name) == (Subject.PARTITION, "orders-0")
    assert found.before == {"leader": 1, "leader_epoch": 4, "isr": [1, 2], "partition_epoch": 9}
    assert found.after == {"leader": 2, "leader_epoch": 5, "isr": [2], "partition_epoch": 10}


def test_no_leader_is_none() -> None:
    after = image_of(*topic(), PartitionChangeRecord(partition_id=0, topic_id=ORDERS, leader=-1))
    (found,) = between(image_of(*topic()), after)
    assert found.after is not None
    assert found.after["leader"] is None


def test_partitions_are_in_the_order_of_their_numbers() -> None:
    (_, *found) = between(image_of(*topic(partitions=1)), image_of(*topic(partitions=12)))
    assert [each.name for each in found] == [f"orders-{number}" for number in range(1, 12)]


def test_settings_of_a_topic_a_broker_and_of_every_broker() -> None:
    before = image_of(*topic(), setting("a", "1"), setting("b", "1"))
    after = image_of(
        *topic(),
        setting("b", "2"),
        setting("c", "3"),
        setting("log.cleaner.threads", "2", ConfigResourceType.BROKER, ""),
        setting("d", "4", ConfigResourceType.BROKER, "3"),
        setting("e", "5", 99, "x"),
    )
    found = {each.name: (each.before, each.after) for each in between(before, after)}
    assert found == {
        "topic orders": ({"a": "1", "b": "1", "c": None}, {"a": None, "b": "2", "c": "3"}),
        "every broker": (None, {"log.cleaner.threads": "2"}),
        "broker 3": (None, {"d": "4"}),
        "resource of type 99 x": (None, {"e": "5"}),
    }


def test_passwords_and_keys_are_not_shown() -> None:
    secrets = (
        "listener.name.x.ssl.keystore.password",
        "sasl.jaas.config",
        "ssl.keystore.key",
        "password.encoder.secret",
    )
    after = image_of(*(setting(name, "hunter2", ConfigResourceType.BROKER, "1") for name in secrets), credential())
    settings, user = between(ClusterImage(), after)
    assert settings.after == dict.fromkeys(sorted(secrets), HIDDEN)
    assert (user.name, user.after) == ("alice (SCRAM-SHA-512)", {"iterations": 4096})


def test_another_password_of_a_user_is_a_change_that_shows_neither() -> None:
    (found,) = between(image_of(credential()), image_of(credential(stored_key=b"other")))
    assert (found.change, found.before, found.after) == (Change.CHANGED, {"credential": HIDDEN}, {"credential": HIDDEN})


def test_access_by_what_it_allows_whatever_its_id() -> None:
    assert not between(image_of(entry()), image_of(entry(id=UUID(int=2))))
    prefixed = entry(pattern_type=4, permission_type=2, operation=12, resource_type=5, host="10.0.0.1")
    found = between(image_of(entry()), image_of(prefixed))
    assert [(each.name, each.change) for each in found] == [
        ("allow User:alice from * to read topic orders", Change.REMOVED),
        (
            "deny User:alice from 10.0.0.1 to idempotent write every transactional id that begins with orders",
            Change.ADDED,
        ),
    ]


def test_numbers_that_a_later_kafka_gives_a_meaning_are_shown_as_they_are() -> None:
    (found,) = between(ClusterImage(), image_of(entry(operation=99)))
    assert found.name == "allow User:alice from * to (unknown: 99) topic orders"


def test_quotas_by_whom_they_bind() -> None:
    parts = (QuotaEntity(entity_type="user", entity_name="alice"), QuotaEntity(entity_type="client-id"))
    (found,) = between(ClusterImage(), image_of(ClientQuotaRecord(entity=parts, key="producer_byte_rate", value=1.5)))
    assert (found.name, found.after) == ("every other client-id, user alice", {"producer_byte_rate": 1.5})


def test_features_nodes_and_producer_ids() -> None:
    endpoints = (Endpoint(name="EXTERNAL", host="a", port=9092, security_protocol=3),)
    after = image_of(
        FeatureLevelRecord(name="group.version", feature_level=1),
        RegisterBrokerRecord(broker_id=4, broker_epoch=5, incarnation_id=ORDERS, end_points=endpoints),
        RegisterControllerRecord(controller_id=9, incarnation_id=ORDERS),
        ProducerIdsRecord(broker_id=4, broker_epoch=5, next_producer_id=1000),
    )
    feature, broker, controller, ids = between(ClusterImage(), after)
    assert (feature.name, feature.after) == ("group.version", {"level": 1})
    assert broker.name == "broker 4"
    assert broker.after is not None
    assert broker.after["listeners"] == ["EXTERNAL (SASL_SSL) at a:9092"]
    assert controller.name == "controller 9"
    assert ids.after == {"next_producer_id": 1000}


def test_as_json_is_plain() -> None:
    (found,) = between(ClusterImage(), image_of(*topic()))
    assert found.as_json() == {
        "subject": "topic",
        "name": "orders",
        "change": "added",
        "before": None,
        "after": {"topic_id": "AAAAAAAAAAAAAAAAAAAABw", "partitions": 1},
    }


def test_what_became_of_a_real_cluster_when_a_broker_was_killed() -> None:
    before, after = ClusterImage(), ClusterImage()
    for batch in committed(read_metadata(KEPT / f"{0:020d}.log")):
        after.replay_all(batch.records)
        if not any(isinstance(each, PartitionChangeRecord) and each.leader == NO_LEADER for each in batch.records):
            before.replay_all(batch.records)
    found = {(each.subject, each.name): each for each in between(before, after)}
    lonely = found[Subject.PARTITION, "lonely-0"]
    assert lonely.before is not None
    assert lonely.after is not None
    assert (lonely.before["leader"], lonely.after["leader"]) == (3, None)
    assert {subject for subject, _ in found} <= {Subject.PARTITION, Subject.BROKER}
