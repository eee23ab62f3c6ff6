"""The requests that determine a cluster's state, and what follows from the responses; without a socket."""

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeVar

from logstore import TopicPartition
from replication.base.counted import counted
from replication.base.int32 import parse_setting
from replication.cluster.operations.cluster_view import Aspect, BrokerView, ClusterView, Gap
from replication.cluster.operations.partition_filter import PartitionFilter
from replication.cluster.operations.partition_view import PartitionView
from replication.cluster.operations.quorum_view import QuorumView
from replication.records.metadata.configurations import MIN_IN_SYNC_REPLICAS
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.errors import (
    MalformedResponseError,
    RequestTimedOutError,
    UnsupportedVersionError,
    error_for,
    raise_for,
)
from replication.wire.messages.describe_cluster import DescribeClusterRequest, DescribedBroker, DescribedCluster
from replication.wire.messages.describe_configs import DescribeConfigsRequest, DescribedConfigs
from replication.wire.messages.describe_quorum import DescribedQuorum, DescribeQuorumRequest
from replication.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicPartitionsPage,
)
from replication.wire.messages.list_partition_reassignments import (
    ListedReassignments,
    ListPartitionReassignmentsRequest,
    PartitionReassignment,
)
from replication.wire.messages.metadata import ClusterMetadata, MetadataRequest, TopicMetadata
from replication.wire.messages.request import Request

AnswerT = TypeVar("AnswerT")
Questions: TypeAlias = Generator[Request[Any], Any, AnswerT]
"""A generator that yields requests and is sent their responses.

UnsupportedVersionError and RequestTimedOutError are thrown into it instead of a response; it continues if it can.
"""

TOPICS_AT_ONCE: Final = 1_000
"""How many topics' settings one request asks for."""
_DELETED: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})
"""A topic that was listed before no longer exists."""


def ask_for_view(chosen: PartitionFilter) -> Questions[ClusterView]:
    """Ask for everything that a view of the cluster has, with the partitions of the selected topics.

    Asks first what every broker knows, and last what a broker forwards to the controllers: they may not answer.
    Raises KafkaError if brokers or topics cannot be listed, or if no topic has a requested name.
    """
    gaps: list[Gap] = []
    cluster = yield from _cluster(gaps)
    topics = yield from _topics(gaps)
    shown = [name for name in topics if chosen.keeps_topic(name)]
    _ensure_found(chosen, shown)
    min_isr = yield from _min_isr(shown, gaps)
    quorum, reassignments = yield from _controllers(gaps)
    return ClusterView(
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id if _has_no_quorum(gaps) else None,
        quorum=quorum,
        brokers=tuple(_brokers(cluster, topics)),
        partitions=tuple(_partitions({name: topics[name] for name in shown}, min_isr, reassignments)),
        gaps=tuple(gaps),
    )


def _cluster(gaps: list[Gap]) -> Questions[DescribedCluster]:
    try:
        cluster: DescribedCluster = yield DescribeClusterRequest()
    except UnsupportedVersionError as error:
        gaps.append(Gap(Aspect.FENCED, str(error), is_failure=False))
        metadata: ClusterMetadata = yield MetadataRequest(topics=())
        raise_for(metadata.error, "Metadata")
        return DescribedCluster(
            cluster_id=metadata.cluster_id or "",
            controller_id=metadata.controller_id,
            brokers={broker.id: DescribedBroker(broker, None) for broker in metadata.brokers.values()},
        )
    if cluster.error is ErrorCode.MISMATCHED_ENDPOINT_TYPE:
        raise error_for(cluster.error, "this is a controller's listener; use brokers' addresses")
    raise_for(cluster.error, _said("DescribeCluster", cluster.error_message))
    if any(broker.is_fenced is None for broker in cluster.brokers.values()):
        gaps.append(Gap(Aspect.FENCED, "brokers report them since Kafka 4.0", is_failure=False))
    return cluster


def _topics(gaps: list[Gap]) -> Questions[Mapping[str, TopicMetadata]]:
    try:
        topics = yield from _paged_topics()
    except UnsupportedVersionError as error:
        gaps.append(Gap(Aspect.ELR, str(error), is_failure=False))
        metadata: ClusterMetadata = yield MetadataRequest(topics=None)
        raise_for(metadata.error, "Metadata")
        topics = dict(metadata.topics)
    for name, topic in topics.items():
        if topic.error not in _DELETED:
            raise_for(topic.error, f"topic {name}")
    return {name: topics[name] for name in sorted(topics)}


def _paged_topics() -> Questions[dict[str, TopicMetadata]]:
    topics: dict[str, TopicMetadata] = {}
    request = DescribeTopicPartitionsRequest()
    while True:
        page: TopicPartitionsPage = yield request
        is_new = False
        for name, topic in page.topics.items():
            before = topics[name].partitions if name in topics else {}
            is_new = is_new or name not in topics or not topic.partitions.keys() <= before.keys()
            topics[name] = replace(topic, partitions={**before, **topic.partitions})
        if page.next_cursor is None:
            return topics
        if not is_new:
            raise _without_end(page.next_cursor)
        request = DescribeTopicPartitionsRequest(cursor=page.next_cursor)


def _without_end(cursor: Cursor) -> MalformedResponseError:
    return MalformedResponseError(
        "DescribeTopicPartitions: a page has nothing that the pages before it lacked, yet its cursor points to "
        f"{TopicPartition(cursor.topic, cursor.partition)}: this would never end; try another broker"
    )


def _min_isr(topics: Sequence[str], gaps: list[Gap]) -> Questions[Mapping[str, int]]:
    """Ask for topics' settings; topics whose settings are not returned are left out."""
    known: dict[str, int] = {}
    refused: dict[str, ErrorCode] = {}
    for start in range(0, len(topics), TOPICS_AT_ONCE):
        try:
            told: DescribedConfigs = yield DescribeConfigsRequest.of_topics(
                topics[start : start + TOPICS_AT_ONCE], (MIN_IN_SYNC_REPLICAS,)
            )
        except UnsupportedVersionError as error:
            gaps.append(Gap(Aspect.MIN_ISR, str(error), is_failure=False))
            return known
        for topic, configuration in told.topics.items():
            value = parse_setting(configuration.values.get(MIN_IN_SYNC_REPLICAS) or "")
            if value is not None:
                known[topic] = value
            elif configuration.error is not ErrorCode.NONE and configuration.error not in _DELETED:
                refused[topic] = configuration.error
    if refused:
        topic, code = next(iter(refused.items()))
        more = f", and {counted(len(refused) - 1, 'more topic')}" if len(refused) > 1 else ""
        gaps.append(Gap(Aspect.MIN_ISR, f"{error_for(code, topic)}{more}", is_failure=True))
    return known


def _controllers(
    gaps: list[Gap],
) -> Questions[tuple[QuorumView | None, Mapping[TopicPartition, PartitionReassignment]]]:
    """Ask what brokers forward to a controller; after it failed to answer once, ask nothing more."""
    quorum = None
    reassignments: Mapping[TopicPartition, PartitionReassignment] = {}
    try:
        quorum = yield from _quorum(gaps)
        reassignments = yield from _reassignments(gaps)
    except RequestTimedOutError as error:
        reason = f"{error.address}: no answer within {error.seconds:g} s; is a controller running?"
        silent = {Aspect.QUORUM, Aspect.REASSIGNMENTS} - {gap.aspect for gap in gaps}
        silent -= {Aspect.QUORUM} if quorum else set()
        gaps.extend(Gap(aspect, reason, is_failure=True) for aspect in sorted(silent))
    return quorum, reassignments


def _quorum(gaps: list[Gap]) -> Questions[QuorumView | None]:
    try:
        quorum: DescribedQuorum = yield DescribeQuorumRequest()
    except UnsupportedVersionError as error:
        gaps.append(Gap(Aspect.QUORUM, str(error), is_failure=False))
        return None
    if quorum.error is not ErrorCode.NONE:
        reason = str(error_for(quorum.error, _said("DescribeQuorum", quorum.error_message)))
        gaps.append(Gap(Aspect.QUORUM, reason, is_failure=True))
        return None
    return QuorumView(
        leader_id=quorum.leader_id,
        leader_epoch=quorum.leader_epoch,
        high_watermark=quorum.high_watermark,
        voters=quorum.voters,
        observers=quorum.observers,
    )


def _reassignments(gaps: list[Gap]) -> Questions[Mapping[TopicPartition, PartitionReassignment]]:
    try:
        listed: ListedReassignments = yield ListPartitionReassignmentsRequest()
    except UnsupportedVersionError as error:
        gaps.append(Gap(Aspect.REASSIGNMENTS, str(error), is_failure=False))
        return {}
    if listed.error is not ErrorCode.NONE:
        reason = str(error_for(listed.error, _said("ListPartitionReassignments", listed.error_message)))
        gaps.append(Gap(Aspect.REASSIGNMENTS, reason, is_failure=True))
    return listed.partitions


def _ensure_found(chosen: PartitionFilter, topics: Sequence[str]) -> None:
    for each in chosen.topics:
        if not any(map(each.pattern.fullmatch, topics)):
            raise error_for(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic is named {each.written}")


def _has_no_quorum(gaps: list[Gap]) -> bool:
    return any(gap.aspect is Aspect.QUORUM and not gap.is_failure for gap in gaps)


def _said(api: str, message: str | None) -> str:
    return f"{api}: {message}" if message else api


def _brokers(cluster: DescribedCluster, topics: Mapping[str, TopicMetadata]) -> Iterator[BrokerView]:
    partitions = [partition for topic in topics.values() for partition in topic.partitions.values()]
    leaders = Counter(partition.leader_id for partition in partitions)
    replicas = Counter(replica for partition in partitions for replica in partition.replicas)
    for broker_id, (broker, is_fenced) in sorted(cluster.brokers.items()):
        yield BrokerView(
            id=broker_id,
            address=Address(broker.host, broker.port),
            rack=broker.rack,
            is_fenced=is_fenced,
            leaders=leaders[broker_id],
            replicas=replicas[broker_id],
        )


def _partitions(
    topics: Mapping[str, TopicMetadata],
    min_isr: Mapping[str, int],
    reassignments: Mapping[TopicPartition, PartitionReassignment],
) -> Iterator[PartitionView]:
    none_goes_on = PartitionReassignment((), (), ())
    for name, topic in topics.items():
        for number, told in sorted(topic.partitions.items()):
            partition = TopicPartition(name, number)
            reassignment = reassignments.get(partition, none_goes_on)
            yield PartitionView(
                partition=partition,
                topic_id=topic.topic_id,
                is_internal=topic.is_internal,
                leader=told.leader_id,
                leader_epoch=told.leader_epoch,
                replicas=told.replicas,
                isr=told.isr,
                elr=told.elr,
                last_known_elr=told.last_known_elr,
                offline_replicas=told.offline,
                adding=reassignment.adding,
                removing=reassignment.removing,
                min_isr=min_isr.get(name),
            )
