"""A producer's open transaction in one partition, as its leader remembers it."""

from collections.abc import Mapping
from typing import NamedTuple

from logstore import TopicPartition
from replication.wire.messages.describe_producers import ActiveProducer


class OpenTransaction(NamedTuple):
    """Consumers of committed records wait at its first offset."""

    partition: TopicPartition
    leader: int
    """The broker that leads the partition."""
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    """Of the coordinator that wrote the producer's last marker there; -1 where there is none."""
    first_offset: int
    last_timestamp: int
    """Of its last batch, in milliseconds since 1970 UTC, by the producer's clock."""

    @classmethod
    def of(cls, partition: TopicPartition, leader: int, producer: ActiveProducer) -> "OpenTransaction":
        """Create it from a leader's description of a producer that has one."""
        return cls(
            partition,
            leader,
            producer.producer_id,
            producer.producer_epoch,
            producer.coordinator_epoch,
            producer.transaction_first_offset,
            producer.last_timestamp,
        )

    @property
    def identity(self) -> tuple[TopicPartition, int, int]:
        """What it stays the same by, whoever leads: the partition, the producer, and where it begins."""
        return self.partition, self.producer_id, self.first_offset

    def __str__(self) -> str:
        return (
            f"{self.partition}: the transaction of producer {self.producer_id} (epoch {self.producer_epoch}) from "
            f"offset {self.first_offset:,} on"
        )

    def as_json(self) -> Mapping[str, object]:
        """Return it as `--json` prints it."""
        return {**self.partition._asdict(), **{name: getattr(self, name) for name in self._fields[1:]}}
