"""What administrators ask of a cluster, through whichever of its brokers answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from kio.schema.alter_partition_reassignments.v0.request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kio.schema.create_topics.v7.request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kio.schema.delete_topics.v6.request import DeleteTopicsRequest, DeleteTopicState

from logstore import TopicPartition
from replication.base.errors import ReplicationError
from replication.cluster.operations.cluster_reader import read_cluster
from replication.cluster.operations.cluster_view import ClusterView
from replication.cluster.operations.partition_view import PartitionView
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.error_code import ErrorCode
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.cluster.node.joining.mixed_cluster import MixedCluster
from tests.replication.waiting import wait_until

_SETTINGS: Final = ClientSettings(connect_timeout_ms=1_000, request_timeout_ms=3_000)
_TIMEOUT: Final = timedelta(seconds=3)


@dataclass(frozen=True)
class Administrator:
    """Asks by itself, so that a broker that stands still is asked no more than once."""

    cluster: MixedCluster

    def view(self) -> ClusterView | None:
        """Return the cluster as a broker describes it; None where none answers."""
        try:
            with ClusterClient(self.cluster.bootstrap(), _SETTINGS) as client:
                return read_cluster(client)
        except (OSError, ReplicationError):
            return None

    def partitions(self) -> dict[TopicPartition, PartitionView]:
        """Return all partitions as a broker describes them."""
        view = self.view()
        return {each.partition: each for each in view.partitions} if view else {}

    def create(self, topic: str, replicas: Sequence[Sequence[int]], **configs: object) -> bool:
        """Make a topic with these replicas of each partition; whether that was done."""
        placed = tuple(
            CreatableReplicaAssignment(partition_index=number, broker_ids=tuple(ids))
            for number, ids in enumerate(replicas)
        )
        created = CreatableTopic(
            name=topic,
            num_partitions=-1,
            replication_factor=-1,
            assignments=placed,
            configs=tuple(
                CreatableTopicConfig(name=name.replace("_", "."), value=str(value)) for name, value in configs.items()
            ),
        )
        answer = self._ask(CreateTopicsRequest(topics=(created,), timeout=_TIMEOUT))
        return answer is not None and answer.topics[0].error_code in {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS}

    def delete(self, topic: str) -> bool:
        """Delete a topic; whether that was done."""
        request = DeleteTopicsRequest(topics=(DeleteTopicState(name=topic, topic_id=None),), timeout=_TIMEOUT)
        answer = self._ask(request)
        return answer is not None and answer.responses[0].error_code is ErrorCode.NONE

    def reassign(self, partition: TopicPartition, replicas: Sequence[int]) -> bool:
        """Begin to move a partition to these brokers; whether that was done."""
        return self._reassign(partition, tuple(replicas))

    def cancel(self, partition: TopicPartition) -> bool:
        """Move a partition no more; whether that was done."""
        return self._reassign(partition, None)

    def _reassign(self, partition: TopicPartition, replicas: tuple[int, ...] | None) -> bool:
        moved = ReassignablePartition(partition_index=partition.partition, replicas=replicas)
        topic = ReassignableTopic(name=partition.topic, partitions=(moved,))
        answer = self._ask(AlterPartitionReassignmentsRequest(timeout=_TIMEOUT, topics=(topic,)))
        return answer is not None and answer.responses[0].partitions[0].error_code is ErrorCode.NONE

    def elect(self, kind: str, *arguments: object) -> Outcome:
        """Run `epochlog elect`, for all partitions where none is named."""
        chosen = arguments if "--topic" in arguments else ("--all-topic-partitions", *arguments)
        return epochlog("elect", "--bootstrap", self.cluster.bootstrap(), "--election-type", kind, *chosen)

    def wait_for(self, partition: TopicPartition, **wanted: object) -> None:
        """Wait until a partition is described so, its ISR and replicas as sets."""

        def is_so() -> bool:
            told = self.partitions().get(partition)
            return told is not None and all(_plain(getattr(told, name)) == value for name, value in wanted.items())

        wait_until(is_so, f"{partition} has {wanted}")

    def make_coordinators(self) -> None:
        """Make the topics of coordinators where none of ours is, as ours coordinate neither groups nor transactions."""
        kafkas = [node for node in self.cluster.ids if node not in self.cluster.ours]
        for topic in ("__transaction_state", "__consumer_offsets"):
            settings = {"cleanup_policy": "compact", "compression_type": "uncompressed"}
            wait_until(partial(self.create, topic, [kafkas], **settings), f"{topic} is made")

    def lead(self, partition: TopicPartition, replicas: Sequence[int]) -> None:
        """Wait until all replicas are in sync, and let the first of them lead, as it is preferred."""
        self.wait_for(partition, isr=set(replicas))

        def leads() -> bool:
            told = self.partitions().get(partition)
            if told is not None and told.leader == replicas[0]:
                return True
            self.elect("preferred", "--topic", partition.topic, "--partition", partition.partition)
            return False

        wait_until(leads, f"{replicas[0]} leads {partition}")

    def _ask(self, request: Any) -> Any:
        try:
            with ClusterClient(self.cluster.bootstrap(), _SETTINGS) as client:
                return client.ask(request)
        except (OSError, ReplicationError):
            return None


def _plain(value: object) -> object:
    return set(value) if isinstance(value, tuple) else value
