"""DescribeTopicPartitions: topics page by page, with their eligible leader replicas (KIP-966)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from replication.protocol.error_code import code_of
from replication.protocol.messages.metadata import PartitionMetadata, TopicMetadata
from replication.protocol.messages.request import Request


class Cursor(NamedTuple):
    """Where the next page begins."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitionsPage:
    """The answer to a DescribeTopicPartitionsRequest (Kafka: DescribeTopicPartitionsResponse)."""

    topics: Mapping[str, TopicMetadata]
    """In order of their names; the first and the last may go on in other pages."""
    next_cursor: Cursor | None
    """None on the last page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopicPartitionsRequest(Request[TopicPartitionsPage]):
    """Asks about topics by name (Kafka: DescribeTopicPartitionsRequest)."""

    topics: tuple[str, ...] = ()
    """Empty: all that there are."""
    cursor: Cursor | None = None
    """None: from the beginning."""
    partition_limit: int = 2_000
    """How many partitions a page may have; brokers have a limit of their own (Kafka: response_partition_limit)."""


API_KEY: Final = 75
VERSIONS: Final = range(1)


def encode_describe_topic_partitions(request: DescribeTopicPartitionsRequest, classes: Any) -> Any:
    """Return the request as one of kio's `classes`, all of one version."""
    cursor = request.cursor
    return classes.DescribeTopicPartitionsRequest(
        topics=tuple(classes.TopicRequest(name=name) for name in request.topics),
        response_partition_limit=request.partition_limit,
        cursor=cursor and classes.Cursor(topic_name=cursor.topic, partition_index=cursor.partition),
    )


def decode_describe_topic_partitions(payload: Any) -> TopicPartitionsPage:
    """Read kio's DescribeTopicPartitionsResponse."""
    cursor = payload.next_cursor
    return TopicPartitionsPage(
        topics={topic.name: _topic(topic) for topic in payload.topics if topic.name is not None},
        next_cursor=cursor and Cursor(cursor.topic_name, cursor.partition_index),
    )


def _topic(topic: Any) -> TopicMetadata:
    return TopicMetadata(
        error=code_of(topic.error_code),
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions={told.partition_index: _partition(told) for told in topic.partitions},
    )


def _partition(told: Any) -> PartitionMetadata:
    return PartitionMetadata(
        code_of(told.error_code),
        told.leader_id,
        told.leader_epoch,
        tuple(told.replica_nodes),
        tuple(told.isr_nodes),
        tuple(told.offline_replicas),
        told.eligible_leader_replicas,
        told.last_known_elr,
    )
