"""What can happen to a controller (Kafka: ControllerEvent)."""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from logstore.topic_partition import TopicPartition
from replication.wire.error_code import ErrorCode


class ControllerChanged(NamedTuple):
    """The controller's slot was taken or left."""


class SessionChanged(NamedTuple):
    """The session with the coordination store is over, or the store began a new one."""

    alive: bool


class BrokersChanged(NamedTuple):
    """A broker registered or its registration is gone."""


class TopicsChanged(NamedTuple):
    """A topic was created or deleted."""


class PartitionsChanged(NamedTuple):
    """A topic's replicas were written: partitions may have been added."""

    topic: str


class DeletionAsked(NamedTuple):
    """Topics are to be deleted."""


class ReassignmentAsked(NamedTuple):
    """Partitions are to move."""


class PreferredElectionAsked(NamedTuple):
    """Partitions are to be led by their preferred replicas."""


class IsrChangeNoticed(NamedTuple):
    """Leaders left notices that they changed an ISR."""


class ReassignedIsrChanged(NamedTuple):
    """The state of a partition that moves changed: its new replicas may be in sync."""

    partition: TopicPartition


class StopReplicaAnswered(NamedTuple):
    """A broker answered a StopReplica that asked it to delete."""

    broker_id: int
    errors: Mapping[TopicPartition, ErrorCode]
    """By partition that was to be deleted; ErrorCode.NONE where it was."""


Event: TypeAlias = (
    ControllerChanged
    | SessionChanged
    | BrokersChanged
    | TopicsChanged
    | PartitionsChanged
    | DeletionAsked
    | ReassignmentAsked
    | PreferredElectionAsked
    | IsrChangeNoticed
    | ReassignedIsrChanged
    | StopReplicaAnswered
)
