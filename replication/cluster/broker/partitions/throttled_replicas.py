"""Which replicas of a broker are throttled, and at which rates (KIP-73; Kafka: ReplicationQuotaManager)."""

from collections.abc import Iterable
from typing import Final

from replication.cluster.fetcher.requests.throttle import Throttle
from replication.records.metadata.configurations import ConfigResource, ConfigResourceType
from replication.records.metadata.image import ClusterImage

LEADER: Final = "leader.replication.throttled"
FOLLOWER: Final = "follower.replication.throttled"
_MOVES_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
_ALL: Final = "*"
_NONE: Final[frozenset[int]] = frozenset()


class ThrottledPartitions:
    """Those of which a broker has throttled replicas, by what is set for their topics. Any thread may ask."""

    def __init__(self, setting: str, broker_id: int) -> None:
        """Know of none yet."""
        self._setting: Final = setting
        self._broker: Final = str(broker_id)
        self._numbers: Final[dict[str, frozenset[int] | None]] = {}
        """By topic; None: all of it."""

    def __contains__(self, partition: object) -> bool:
        """Whether a replica of a partition is throttled here."""
        if not self._numbers or not isinstance(partition, tuple):
            return False
        topic, number = partition
        numbers = self._numbers.get(topic, _NONE)  # looked up once: `take` may be under way in another thread
        return numbers is None or number in numbers

    def take(self, image: ClusterImage, topic: str) -> None:
        """Apply the current settings of a topic."""
        text = image.configurations.of(ConfigResourceType.TOPIC, topic).get(self._setting, "").strip()
        pairs = [pair.strip().partition(":") for pair in text.split(",")]
        numbers = frozenset(int(number) for number, _, broker in pairs if broker == self._broker and number.isdecimal())
        if text == _ALL:
            self._numbers[topic] = None
        elif numbers:
            self._numbers[topic] = numbers
        else:
            self._numbers.pop(topic, None)


class ReplicaThrottles:
    """For what a broker fetches, what is fetched from it, and what it moves itself; any thread may ask them."""

    def __init__(self, broker_id: int) -> None:
        """Throttle nothing until the metadata says so."""
        self._broker: Final = str(broker_id)
        self._led: Final = ThrottledPartitions(f"{LEADER}.replicas", broker_id)
        self._followed: Final = ThrottledPartitions(f"{FOLLOWER}.replicas", broker_id)
        self.leader: Final = Throttle(None, self._led)
        """Of what followers that are not in sync fetch from this broker."""
        self.follower: Final = Throttle(None, self._followed)
        """Of what this broker fetches of partitions in which it lags."""
        self.moves: Final = Throttle(None)
        """Of what is copied from one of its directories to another (KIP-113)."""

    def take(self, image: ClusterImage, changed: Iterable[ConfigResource]) -> None:
        """Apply what has changed in the settings of topics and brokers."""
        for resource in changed:
            if resource.type == ConfigResourceType.TOPIC:
                self._led.take(image, resource.name)
                self._followed.take(image, resource.name)
            elif resource.type == ConfigResourceType.BROKER:
                self.leader.bytes_per_second = self._rate(image, f"{LEADER}.rate")
                self.follower.bytes_per_second = self._rate(image, f"{FOLLOWER}.rate")
                self.moves.bytes_per_second = self._rate(image, _MOVES_RATE)

    def _rate(self, image: ClusterImage, name: str) -> int | None:
        """Return what is set for this broker, else for all; None where nothing is, or what is no number."""
        for broker in (self._broker, ""):
            text = image.configurations.of(ConfigResourceType.BROKER, broker).get(name)
            if text is not None:
                return _whole(text)
        return None


def _whole(text: str) -> int | None:
    try:
        return max(0, int(text))
    except ValueError:
        return None
