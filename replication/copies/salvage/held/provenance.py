"""Where a record in a cluster was salvaged from, as a header of it says."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from logstore.batch.record import Header
from logstore.topic_partition import TopicPartition

HEADER: Final = "epochlog.salvaged"


class Provenance(NamedTuple):
    """A record's place in the log of its leader, and what it is: where two led under one epoch, there are two."""

    cluster_id: str
    """Empty where the copies do not say it."""
    partition: TopicPartition
    leader_epoch: int
    offset: int
    producer_id: int
    digest: int
    """Of the time, the key, the value and the headers that it had there, 64 bits."""

    @classmethod
    def parse(cls, value: bytes | None) -> "Provenance | None":
        """Read a header's value; None where it is none of ours."""
        parts = (value or b"").decode("ascii", "replace").split("/")
        try:
            cluster_id, partition, *numbers, digest = parts
            epoch, offset, producer_id = map(int, numbers)
            return cls(cluster_id, _parse_partition(partition), epoch, offset, producer_id, int(digest, 16))
        except ValueError:
            return None

    @property
    def value(self) -> bytes:
        """The header's value: `CLUSTER/TOPIC-PARTITION/EPOCH/OFFSET/PRODUCER/DIGEST`, in ASCII."""
        return value_form(self.cluster_id, self.partition) % self[2:]

    def is_of(self, partition: TopicPartition, cluster_id: str | None) -> bool:
        """Whether it is from a partition of that cluster, as far as both are known."""
        return self.partition == partition and (not self.cluster_id or not cluster_id or self.cluster_id == cluster_id)


def earlier_places(headers: tuple[Header, ...], partition: TopicPartition) -> Iterator[Provenance]:
    """Yield where a record was before that was salvaged, written to the same partition and lost once more."""
    found = (Provenance.parse(value) for key, value in headers if key == HEADER)
    return (each for each in found if each and each.partition == partition)


def value_form(cluster_id: str, partition: TopicPartition) -> bytes:
    """Return what makes the header's value of an epoch, an offset, a producer and a digest, by `%`."""
    return f"{cluster_id}/{partition}".encode().replace(b"%", b"%%") + b"/%d/%d/%d/%016x"


def _parse_partition(text: str) -> TopicPartition:
    """Read a topic and a partition. Raises ValueError."""
    topic, _, number = text.rpartition("-")
    if not topic:
        raise ValueError(text)
    return TopicPartition(topic, int(number))
