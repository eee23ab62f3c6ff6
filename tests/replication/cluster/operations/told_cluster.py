"""A cluster that answers in our terms, without a socket: what a test says of it, and what it does not speak."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from logstore import TopicPartition
from replication.wire.error_code import ErrorCode
from replication.wire.errors import RequestTimedOutError, UnsupportedVersionError
from replication.wire.messages.describe_cluster import DescribeClusterRequest, DescribedBroker, DescribedCluster
from replication.wire.messages.describe_configs import (
    TOPIC,
    Configuration,
    DescribeConfigsRequest,
    DescribedConfigs,
    Resource,
    Setting,
)
from replication.wire.messages.describe_quorum import DescribedQuorum, DescribeQuorumRequest, QuorumReplica
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
from replication.wire.messages.metadata import (
    Broker,
    ClusterMetadata,
    MetadataRequest,
    PartitionMetadata,
    TopicMetadata,
)

QUORUM = DescribedQuorum(
    leader_id=100,
    leader_epoch=7,
    high_watermark=990,
    voters=(QuorumReplica(101, 980), QuorumReplica(100, 1_000), QuorumReplica(102, -1)),
    observers=(QuorumReplica(2, 999), QuorumReplica(1, 1_000)),
)


def partition(leader: int, replicas: tuple[int, ...], isr: tuple[int, ...], **more: Any) -> PartitionMetadata:
    return PartitionMetadata(ErrorCode.NONE, leader, replicas=replicas, isr=isr, **{"elr": (), **more})


def topic(*partitions: PartitionMetadata, **more: Any) -> TopicMetadata:
    return TopicMetadata(topic_id=UUID(int=len(partitions)), partitions=dict(enumerate(partitions)), **more)


@dataclass
class ToldCluster:
    """Brokers 1 to 3, of which those that are named are fenced."""

    topics: dict[str, TopicMetadata] = field(default_factory=dict)
    fenced: frozenset[int] = frozenset()
    min_isr: Mapping[str, str] = field(default_factory=dict)
    """Of topics that differ from the default, 1."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of all topics, beside min.insync.replicas."""
    config_errors: Mapping[str, ErrorCode] = field(default_factory=dict)
    reassignments: Mapping[TopicPartition, PartitionReassignment] = field(default_factory=dict)
    quorum: DescribedQuorum = QUORUM
    page_size: int = 2_000
    unsupported: frozenset[type] = frozenset()
    silent: frozenset[type] = frozenset()
    """To what it does not answer in time."""
    refused: Mapping[type, ErrorCode] = field(default_factory=dict)
    tells_of_fenced: bool = True
    asked: list[Any] = field(default_factory=list)

    def answer(self, request: Any) -> Any:
        """Answer, or raise what a connection would."""
        kind = type(request)
        self.asked.append(request)
        if kind in self.unsupported:
            raise UnsupportedVersionError(kind.__name__.removesuffix("Request"), range(1), None, "b1:9092")
        if kind in self.silent:
            raise RequestTimedOutError("b1:9092", kind.__name__, 30)
        return {
            DescribeClusterRequest: self._cluster,
            DescribeConfigsRequest: self._configs,
            DescribeQuorumRequest: self._quorum,
            DescribeTopicPartitionsRequest: self._page,
            ListPartitionReassignmentsRequest: self._reassignments,
            MetadataRequest: self._metadata,
        }[kind](request)

    def kinds_asked(self) -> list[type]:
        return [type(request) for request in self.asked]

    def _error(self, request: Any) -> ErrorCode:
        return self.refused.get(type(request), ErrorCode.NONE)

    def _brokers(self) -> dict[int, Broker]:
        return {number: Broker(number, f"b{number}", 9_092, f"rack-{number}") for number in (3, 1, 2)}

    def _cluster(self, request: DescribeClusterRequest) -> DescribedCluster:
        return DescribedCluster(
            error=self._error(request),
            error_message="why",
            cluster_id="told",
            controller_id=2,
            brokers={
                number: DescribedBroker(broker, number in self.fenced if self.tells_of_fenced else None)
                for number, broker in self._brokers().items()
            },
        )

    def _configs(self, request: DescribeConfigsRequest) -> DescribedConfigs:
        told = {}
        for name in request.topics:
            error = self.config_errors.get(name, ErrorCode.NONE)
            set_ = {"min.insync.replicas": self.min_isr.get(name, "1"), **self.settings}
            known = {each: Setting(value) for each, value in set_.items()} if error is ErrorCode.NONE else {}
            told[Resource(TOPIC, name)] = Configuration(error, None, known)
        return DescribedConfigs(resources=told)

    def _quorum(self, request: DescribeQuorumRequest) -> DescribedQuorum:
        error = self._error(request)
        return self.quorum if error is ErrorCode.NONE else DescribedQuorum(error=error, error_message="why")

    def _page(self, request: DescribeTopicPartitionsRequest) -> TopicPartitionsPage:
        """Give a page as brokers do: topics by name, the first and the last in part."""
        all_of_them = [
            (name, number) for name in sorted(self.topics) for number in sorted(self.topics[name].partitions)
        ]
        all_of_them = [each for each in all_of_them if not request.topics or each[0] in request.topics]
        left = [each for each in all_of_them if request.cursor is None or each >= request.cursor]
        told: dict[str, TopicMetadata] = {}
        for name, number in left[: self.page_size]:
            topic = told.get(name) or replace(self.topics[name], partitions={})
            told[name] = replace(topic, partitions={**topic.partitions, number: self.topics[name].partitions[number]})
        rest = left[self.page_size :]
        return TopicPartitionsPage(topics=told, next_cursor=Cursor(*rest[0]) if rest else None)

    def _reassignments(self, request: ListPartitionReassignmentsRequest) -> ListedReassignments:
        error = self._error(request)
        known = self.reassignments if error is ErrorCode.NONE else {}
        return ListedReassignments(error=error, error_message="why", partitions=known)

    def _metadata(self, request: MetadataRequest) -> ClusterMetadata:
        topics = {
            name: replace(
                told,
                partitions={
                    number: each._replace(elr=None, last_known_elr=None) for number, each in told.partitions.items()
                },
            )
            for name, told in self.topics.items()
        }
        return ClusterMetadata(
            cluster_id="told",
            controller_id=2,
            brokers=self._brokers(),
            topics={name: told for name, told in topics.items() if request.topics is None or name in request.topics},
            error=self._error(request),
        )
