"""What elections would do, according to the controller's own rules."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from logstore import TopicPartition
from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.elections import ElectionAnswer, elect_leaders
from replication.cluster.controller.partition_index import PartitionKey
from replication.records.metadata.records import NO_LEADER, NO_LEADER_CHANGE, PartitionChangeRecord
from replication.wire.error_code import ErrorCode
from replication.wire.messages.elect_leaders import ElectionType


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionForecast:
    """The result of an election of one partition. Brokers are given by id; None means no leader."""

    partition: TopicPartition
    error: ErrorCode
    message: str | None
    leader: int | None = None
    """The current leader."""
    would_lead: int | None = None
    replicas: tuple[int, ...] = ()
    """The replicas."""
    isr: tuple[int, ...] = ()
    """The replicas that would be in sync."""
    is_unclean: bool = False
    """Whether the new leader may lack records that were committed: it was neither in sync nor eligible."""

    @property
    def fails(self) -> bool:
        """Whether the election would be refused."""
        return self.error not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)

    def as_json(self) -> Mapping[str, Any]:
        """Return what can be written as JSON."""
        return {
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "leader": self.leader,
            "would_lead": self.would_lead,
            "isr": self.isr,
            "unclean": self.is_unclean,
            "error": None if self.error is ErrorCode.NONE else self.error.name,
            "message": self.message,
        }


def forecast(
    cluster: ClusterState, election_type: ElectionType, partitions: Iterable[TopicPartition] | None
) -> list[ElectionForecast]:
    """Return what elections of these partitions would do; with None, of all that need one."""
    decision = elect_leaders(cluster, election_type, partitions)
    changes = {
        PartitionKey(record.topic_id, record.partition_id): record
        for record in decision.records
        if isinstance(record, PartitionChangeRecord)
    }
    return [_forecast(cluster, answer, changes) for answer in decision.answer]


def _forecast(
    cluster: ClusterState, answer: ElectionAnswer, changes: Mapping[PartitionKey, PartitionChangeRecord]
) -> ElectionForecast:
    told = answer.partition
    topic = cluster.topic_named(told.topic)
    before = topic.partitions.get(told.partition) if topic else None
    if topic is None or before is None:
        return ElectionForecast(partition=told, error=answer.error, message=answer.message)
    change = changes.get(PartitionKey(topic.id, told.partition))
    after = before.changed(change) if change else before
    elected = change is not None and change.leader not in (NO_LEADER_CHANGE, NO_LEADER)
    return ElectionForecast(
        partition=told,
        error=answer.error,
        message=answer.message,
        leader=before.leader if before.has_leader else None,
        would_lead=after.leader if after.has_leader else None,
        replicas=after.replicas,
        isr=after.isr,
        is_unclean=elected and after.leader not in (*before.isr, *before.elr),
    )
