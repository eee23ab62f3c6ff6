"""Elections that are asked for, and those that the controller holds on its own (Kafka: ElectLeaders, KIP-460)."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.imbalance import imbalanced
from replication.cluster.controller.leadership import change_of
from replication.records.leadership.partition_change import Election
from replication.records.metadata.records import MetadataRecord
from replication.wire.error_code import ErrorCode, message_of
from replication.wire.messages.elect_leaders import ElectionType

ELECTIONS_PER_PASS: Final = 1000
"""So that no batch of records becomes too large; what is left over comes in the next pass."""


class ElectionAnswer(NamedTuple):
    """What became of one election."""

    partition: TopicPartition
    error: ErrorCode
    message: str | None = None


_ELECTIONS: Final[Mapping[ElectionType, Election]] = MappingProxyType(
    {ElectionType.PREFERRED: Election.PREFERRED, ElectionType.UNCLEAN: Election.UNCLEAN}
)
_NOT_AVAILABLE: Final[Mapping[ElectionType, ErrorCode]] = MappingProxyType(
    {
        ElectionType.PREFERRED: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ElectionType.UNCLEAN: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    }
)


def elect_leaders(
    cluster: ClusterState, election_type: ElectionType, partitions: Iterable[TopicPartition] | None
) -> Decision[list[ElectionAnswer]]:
    """Hold elections for partitions, or for all (None), of which those that need none are not reported."""
    records: list[MetadataRecord] = []
    if partitions is not None:
        answers = [_elect_leader(cluster, each, election_type, records) for each in dict.fromkeys(partitions)]
        return Decision(records, list(_with_names_once(answers)))
    everything = [TopicPartition(topic.name, number) for topic, number, _ in cluster.image.topics.partitions()]
    answers = [_elect_leader(cluster, each, election_type, records) for each in everything]
    return Decision(records, [answer for answer in answers if answer.error is not ErrorCode.ELECTION_NOT_NEEDED])


def balance_leaders(
    cluster: ClusterState, limit: int = ELECTIONS_PER_PASS, percentage: int | None = None
) -> Decision[bool]:
    """Bring leaderships to the preferred replicas where they can lead; answer whether another pass is due at once.

    With a `percentage`, only those of brokers that lack more of theirs than that.
    """
    records: list[MetadataRecord] = []
    for key in imbalanced(cluster, percentage):
        if len(records) >= limit:
            break
        topic = cluster.image.topics.topic(key.topic_id)
        record = change_of(cluster, topic, key.partition_id, election=Election.PREFERRED)
        if record is not None:
            records.append(record)
    return Decision(records, len(records) >= limit)


def elect_uncleanly(cluster: ClusterState, limit: int = ELECTIONS_PER_PASS) -> Decision[bool]:
    """Give leaders to partitions whose topic rather loses records than waits; answer as `balance_leaders` does."""
    records: list[MetadataRecord] = []
    for key in cluster.index.leaderless():
        if len(records) >= limit:
            break
        topic = cluster.image.topics.topic(key.topic_id)
        if cluster.unclean_allowed(topic):
            _elect_leader(cluster, TopicPartition(topic.name, key.partition_id), ElectionType.UNCLEAN, records)
    return Decision(records, len(records) >= limit)


def _with_names_once(answers: Iterable[ElectionAnswer]) -> Iterator[ElectionAnswer]:
    """Name a topic in the first of the messages that are about it: a request names it once for many partitions."""
    named: set[str] = set()
    for each in answers:
        topic = each.partition.topic
        if each.error is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            yield each
        elif topic in named:
            yield each._replace(message="No such partition")
        else:
            named.add(topic)
            yield each


def _elect_leader(
    cluster: ClusterState, asked: TopicPartition, election_type: ElectionType, records: list[MetadataRecord]
) -> ElectionAnswer:
    topic = cluster.topic_named(asked.topic)
    if topic is None:
        return ElectionAnswer(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {asked.topic}")
    partition = topic.partitions.get(asked.partition)
    if partition is None:
        return ElectionAnswer(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {asked}")
    is_preferred = partition.leader == partition.preferred_leader
    if is_preferred if election_type is ElectionType.PREFERRED else partition.has_leader:
        message = "Leader election not needed for topic partition."
        return ElectionAnswer(asked, ErrorCode.ELECTION_NOT_NEEDED, message)
    record = change_of(cluster, topic, asked.partition, election=_ELECTIONS[election_type])
    if record is None:
        error = _NOT_AVAILABLE[election_type]
        return ElectionAnswer(asked, error, message_of(error))
    records.append(record)
    return ElectionAnswer(asked, ErrorCode.NONE)
