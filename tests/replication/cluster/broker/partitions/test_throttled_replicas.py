"""Which replicas wait, and at which rates, by what is set for topics and brokers."""

from collections.abc import Callable

import pytest

from logstore import TopicPartition
from replication.cluster.broker.partitions.throttled_replicas import ReplicaThrottles
from replication.records.metadata.configurations import ConfigResource, ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import ConfigRecord

TOPIC = "orders"
LED, FOLLOWED = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
RATE = "leader.replication.throttled.rate"


class Metadata:
    """Tells the throttles of broker 9 of each setting."""

    def __init__(self) -> None:
        self.image = ClusterImage()
        self.throttles = ReplicaThrottles(9)

    def set(self, type_: int, resource: str, name: str, value: str | None) -> None:
        self.image.replay(ConfigRecord(resource_type=type_, resource_name=resource, name=name, value=value))
        self.throttles.take(self.image, [ConfigResource(type_, resource)])

    def of_topic(self, name: str, value: str | None) -> None:
        self.set(ConfigResourceType.TOPIC, TOPIC, name, value)

    def of_broker(self, broker: str, value: str | None) -> None:
        self.set(ConfigResourceType.BROKER, broker, RATE, value)

    def led(self) -> list[int]:
        return [number for number in range(3) if self.throttles.leader.covers(TopicPartition(TOPIC, number))]

    def followed(self) -> list[int]:
        return [number for number in range(3) if self.throttles.follower.covers(TopicPartition(TOPIC, number))]


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ("*", [0, 1, 2]),
        ("0:9,1:8,2:9", [0, 2]),
        ("0:8", []),
        (" 1:9 , 2:9 ", [1, 2]),
        ("", []),
        ("none", []),
        ("x:9", []),
    ],
)
def test_a_topic_names_its_throttled_replicas_by_partition_and_broker(value: str, numbers: list[int]) -> None:
    metadata = Metadata()
    metadata.of_topic(LED, value)
    assert (metadata.led(), metadata.followed()) == (numbers, [])
    metadata.of_topic(FOLLOWED, value)
    assert metadata.followed() == numbers
    metadata.of_topic(LED, None)
    assert metadata.led() == []
    assert not metadata.throttles.follower.covers(TopicPartition("others", 0))


def test_the_rate_of_the_broker_itself_comes_before_that_of_all() -> None:
    metadata = Metadata()
    rates = []
    own = [("9", "0"), ("9", "-1"), ("9", "x")]
    for broker, value in (("", "500"), ("9", "100"), ("8", "7"), ("9", None), ("", None), *own):
        metadata.of_broker(broker, value)
        rates.append(metadata.throttles.leader.bytes_per_second)
    assert rates == [500, 100, 100, 500, None, 0, 0, None]
    assert metadata.throttles.follower.bytes_per_second is None


def test_moves_between_directories_have_a_rate_of_their_own_and_all_of_them_keep_to_it() -> None:
    metadata = Metadata()
    metadata.set(ConfigResourceType.BROKER, "9", "replica.alter.log.dirs.io.max.bytes.per.second", "1000")
    assert metadata.throttles.moves.bytes_per_second == 1_000
    assert metadata.throttles.moves.covers(TopicPartition(TOPIC, 0))
    assert metadata.throttles.follower.bytes_per_second is None


class LookedUp(str):
    """A topic's name, which calls `meanwhile` whenever it is looked up once more."""

    __slots__ = ("lookups", "meanwhile")

    def __init__(self, _: str) -> None:
        self.lookups = 0
        self.meanwhile: Callable[[], None] = lambda: None

    def __hash__(self) -> int:
        self.lookups += 1
        if self.lookups > 1:
            self.meanwhile()
        return str.__hash__(self)

    __eq__ = str.__eq__


def test_whoever_asks_as_the_metadata_changes_is_answered() -> None:
    metadata = Metadata()
    metadata.of_topic(LED, "0:9")
    topic = LookedUp(TOPIC)
    topic.meanwhile = lambda: metadata.of_topic(LED, None)
    assert metadata.throttles.leader.covers(TopicPartition(topic, 0))
