"""How much an audit over the network will read: by offsets, and by how large the batches are that were looked at."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from logstore.topic_partition import TopicPartition
from replication.base.counted import counted
from replication.cluster.network_audit.replicated_partition import ReplicatedPartition


class Sample(NamedTuple):
    """Some batches of a partition."""

    offsets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is to be read."""

    partitions: int
    replicas: int
    brokers: int
    bytes: int
    most_bytes: int
    """Of the broker that has most."""
    bytes_per_second: int | None = None

    @classmethod
    def of(
        cls,
        partitions: Sequence[ReplicatedPartition],
        offsets: Mapping[TopicPartition, int],
        samples: Mapping[TopicPartition, Sample],
        bytes_per_second: int | None = None,
    ) -> "Estimate":
        """Estimate it by how many offsets each partition has; those without a sample are taken for average."""
        average = _bytes_an_offset(samples.values())
        of_broker: dict[int, int] = {}
        for each in partitions:
            sample = samples.get(each.partition)
            size = round(offsets.get(each.partition, 0) * (_bytes_an_offset([sample]) if sample else average))
            for broker_id in each.replicas:
                of_broker[broker_id] = of_broker.get(broker_id, 0) + size
        return cls(
            partitions=len(partitions),
            replicas=sum(len(each.replicas) for each in partitions),
            brokers=len(of_broker),
            bytes=sum(of_broker.values()),
            most_bytes=max(of_broker.values(), default=0),
            bytes_per_second=bytes_per_second,
        )

    def __str__(self) -> str:
        what = (
            f"about {counted(self.bytes, 'byte')} in {counted(self.replicas, 'replica')} of "
            f"{counted(self.partitions, 'partition')} on {counted(self.brokers, 'broker')}"
        )
        if self.bytes_per_second is None:
            return what
        return f"{what}: at the given rate {counted(-(-self.most_bytes // self.bytes_per_second), 'second')} or more"


def _bytes_an_offset(samples: Iterable[Sample]) -> float:
    some = [*samples]
    return sum(each.bytes for each in some) / max(sum(each.offsets for each in some), 1)
