"""What is asked of a running cluster about partitions, and what follows from the answers; without a socket."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from logstore.topic_partition import TopicPartition
from replication.base.int32 import parse_setting
from replication.cluster.asking.errors import NotAnsweredError
from replication.copies.planning.living_partition import LivingPartition
from replication.records.metadata.configurations import MIN_IN_SYNC_REPLICAS, UNCLEAN_LEADER_ELECTION
from replication.records.metadata.remote_storage import REMOTE_STORAGE
from replication.wire.error_code import ErrorCode
from replication.wire.errors import UnsupportedVersionError, error_for
from replication.wire.messages.describe_configs import Configuration, DescribeConfigsRequest, DescribedConfigs
from replication.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicPartitionsPage,
)
from replication.wire.messages.metadata import ClusterMetadata, MetadataRequest, PartitionMetadata, TopicMetadata
from replication.wire.messages.request import Request

Questions: TypeAlias = Generator[Request[Any], Any, "LivingCluster"]
"""Requests, to which the answers are sent; UnsupportedVersionError is thrown in where brokers cannot answer."""
CLEANUP_POLICY: Final = "cleanup.policy"
SETTINGS: Final = (MIN_IN_SYNC_REPLICAS, UNCLEAN_LEADER_ELECTION, CLEANUP_POLICY, REMOTE_STORAGE)
TOPICS_AT_ONCE: Final = 1_000
"""Which one request is about."""


@dataclass(frozen=True, slots=True)
class LivingCluster:
    """The partitions that were asked about, as far as there are any of that name."""

    cluster_id: str | None
    partitions: Mapping[TopicPartition, LivingPartition]
    not_told: tuple[str, ...] = ()
    """What could not be learned, and why."""


def ask_about(partitions: Iterable[TopicPartition]) -> Questions:
    """Ask who leads, who is in sync or eligible, and for settings. Raises NotAnsweredError.

    Topics that there are none of are left out; settings take DESCRIBE_CONFIGS, and are not known without.
    """
    wanted = sorted({*partitions})
    names = sorted({each.topic for each in wanted})
    not_told: list[str] = []
    # Brokers answer it for no topic at all: whose cluster this is.
    about: ClusterMetadata = yield MetadataRequest(topics=())
    topics: dict[str, TopicMetadata] = {}
    settings: dict[str, Configuration] = {}
    for start in range(0, len(names), TOPICS_AT_ONCE):
        some = tuple(names[start : start + TOPICS_AT_ONCE])
        topics |= yield from _topics(some)
        told: DescribedConfigs = yield DescribeConfigsRequest.of_topics(some, SETTINGS)
        settings |= told.topics
    refused = {name: each.error for name, each in topics.items() if each.error not in _ANSWERED}
    if refused:
        name, error = next(iter(refused.items()))
        raise NotAnsweredError(f"topic {name}: {error_for(error, 'DescribeTopicPartitions')}")
    unset = {name: settings[name].error for name in names if name in settings and settings[name].error not in _ANSWERED}
    if unset:
        name, error = next(iter(unset.items()))
        not_told.append(f"settings of {name}: {error_for(error, 'DescribeConfigs')}")
    living = {}
    for each in wanted:
        told_of = topics[each.topic].partitions.get(each.partition) if each.topic in topics else None
        if told_of is not None:
            living[each] = _living(each, told_of, settings.get(each.topic))
    return LivingCluster(about.cluster_id, living, tuple(not_told))


_ANSWERED: Final = frozenset({ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})


def _topics(names: tuple[str, ...]) -> Generator[Request[Any], Any, dict[str, TopicMetadata]]:
    found: dict[str, TopicMetadata] = {}
    cursor: Cursor | None = None
    while True:
        try:
            page: TopicPartitionsPage = yield DescribeTopicPartitionsRequest(topics=names, cursor=cursor)
        except UnsupportedVersionError:
            metadata: ClusterMetadata = yield MetadataRequest(topics=names)
            return dict(metadata.topics)
        for name, topic in page.topics.items():
            before = found[name].partitions if name in found else {}
            found[name] = TopicMetadata(
                error=topic.error, topic_id=topic.topic_id, partitions={**before, **topic.partitions}
            )
        if page.next_cursor is None:
            return found
        if cursor is not None and page.next_cursor <= cursor:
            raise NotAnsweredError("DescribeTopicPartitions: a page ends before it began; try another broker")
        cursor = page.next_cursor


def _living(partition: TopicPartition, told: PartitionMetadata, settings: Configuration | None) -> LivingPartition:
    values = settings.values if settings else {}
    policy = values.get(CLEANUP_POLICY)
    return LivingPartition(
        partition=partition,
        leader=told.leader_id if told.leader_id >= 0 else None,
        leader_epoch=told.leader_epoch,
        replicas=told.replicas,
        isr=told.isr,
        elr=told.elr,
        min_isr=parse_setting(values.get(MIN_IN_SYNC_REPLICAS) or ""),
        unclean_allowed=_flag(values.get(UNCLEAN_LEADER_ELECTION)),
        is_compacted=None if policy is None else "compact" in policy,
        is_tiered=_flag(values.get(REMOTE_STORAGE)),
    )


def _flag(value: str | None) -> bool | None:
    return None if value is None else value.lower() == "true"
