"""What a cluster that nobody writes is said to be: by its own metadata, or as far as its directories show."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from logstore.topic_partition import TopicPartition
from replication.cluster.serving.frozen_broker import FrozenBroker, FrozenCopy
from replication.cluster.serving.leader_choice import LeaderChoice
from replication.cluster.serving.leaders import led
from replication.records.codec.fields import NO_ID
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import (
    ConfigRecord,
    Endpoint,
    FeatureLevelRecord,
    MetadataRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from replication.wire.addresses import Address


def topics_image(known: ClusterImage, brokers: Sequence[FrozenBroker], choice: LeaderChoice) -> ClusterImage:
    """Return the topics, settings and features that are known, with leaders among these brokers.

    Topics that only directories have are in it as these have them. Brokers, users, quotas and rights are not.
    """
    image = ClusterImage()
    image.replay_all(each for each in known.records() if isinstance(each, FeatureLevelRecord | ConfigRecord))
    image.replay_all(_known_topics(known, brokers, choice))
    image.replay_all(_other_topics(known, brokers))
    return image


def with_brokers(
    image: ClusterImage, known: ClusterImage, brokers: Mapping[int, Mapping[str, Address]]
) -> ClusterImage:
    """Return an image in which these brokers, by node id, have these listeners, by name."""
    image.replay_all(
        RegisterBrokerRecord(
            broker_id=node_id,
            incarnation_id=NO_ID,
            broker_epoch=0,
            end_points=tuple(Endpoint(name=name, host=host, port=port) for name, (host, port) in listeners.items()),
            features=tuple(known.brokers[node_id].features.values()) if node_id in known.brokers else (),
            rack=known.brokers[node_id].rack if node_id in known.brokers else None,
            fenced=False,
        )
        for node_id, listeners in brokers.items()
    )
    return image.frozen()


def _known_topics(
    known: ClusterImage, brokers: Sequence[FrozenBroker], choice: LeaderChoice
) -> Iterator[MetadataRecord]:
    for topic in known.topics:
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for number, registered in topic.partitions.items():
            partition = TopicPartition(topic.name, number)
            state = led(partition, registered, copies_of(partition, topic.id, brokers), choice)
            yield state.record(topic.id, number, known.metadata_version)


def _other_topics(known: ClusterImage, brokers: Sequence[FrozenBroker]) -> Iterator[MetadataRecord]:
    ids: dict[str, Counter[UUID]] = {}
    held: set[TopicPartition] = set()
    for broker in brokers:
        for partition, copy in broker.copies.items():
            if partition.topic not in known.topics.by_name:
                ids.setdefault(partition.topic, Counter())[copy.topic_id] += 1
                held.add(partition)
    # Where a topic was deleted and made again, brokers may hold both: the one that most of them hold is served.
    served = {topic: counts.most_common(1)[0][0] for topic, counts in sorted(ids.items())}
    yield from (TopicRecord(name=topic, topic_id=topic_id) for topic, topic_id in served.items())
    for partition in sorted(held):
        topic_id = served[partition.topic]
        copies = copies_of(partition, topic_id, brokers)
        if copies:
            state = led(partition, None, copies, LeaderChoice.ADVISE)
            yield state.record(topic_id, partition.partition, known.metadata_version)


def copies_of(partition: TopicPartition, topic_id: UUID, brokers: Sequence[FrozenBroker]) -> dict[int, FrozenCopy]:
    """Return the copies of a topic's partition by node id: not those of another topic that only had its name."""
    found = {each.node_id: each.copies[partition] for each in brokers if partition in each.copies}
    return {node_id: copy for node_id, copy in found.items() if copy.topic_id == topic_id}
