"""Metadata of a cluster whose coordinators' topics lie somewhere."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import PartitionRecord, RegisterBrokerRecord, TopicRecord
from replication.records.metadata.records.nodes import Endpoint
from replication.wire.addresses import Address


def image_of(
    topics: Mapping[str, Sequence[Sequence[int]]],
    brokers: Mapping[int, Address | None] | None = None,
    fenced: Iterable[int] = (),
) -> ClusterImage:
    """Return metadata with these replicas of each topic's partitions; the first leads. No address: no listener."""
    image = ClusterImage()
    for number, address in (brokers or {}).items():
        listeners = () if address is None else (endpoint(address),)
        image.replay(
            RegisterBrokerRecord(
                broker_id=number,
                incarnation_id=UUID(int=number),
                broker_epoch=number,
                end_points=listeners,
                fenced=number in fenced,
            )
        )
    for place, (name, partitions) in enumerate(topics.items()):
        topic_id = UUID(int=1_000 + place)
        image.replay(TopicRecord(name=name, topic_id=topic_id))
        for number, replicas in enumerate(partitions):
            image.replay(
                PartitionRecord(
                    partition_id=number,
                    topic_id=topic_id,
                    replicas=tuple(replicas),
                    isr=tuple(replicas),
                    leader=replicas[0],
                    leader_epoch=0,
                    partition_epoch=0,
                )
            )
    return image


def endpoint(address: Address) -> Endpoint:
    """Return the listener PLAINTEXT of a broker."""
    return Endpoint(name="PLAINTEXT", host=address.host, port=address.port, security_protocol=0)
