"""What the controller sends brokers, as values (Kafka: AbstractControlRequest).

A broker ignores commands of a controller epoch lower than one it has seen, and those for an earlier broker epoch.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias
from uuid import UUID

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.registered_broker import RegisteredBroker
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment


class PartitionCommand(NamedTuple):
    """Lead or follow a partition."""

    state: LeaderAndIsr
    assignment: ReplicaAssignment
    is_new: bool
    """The replica has no log yet."""


class StopPartition(NamedTuple):
    """Stop leading or following a partition."""

    leader_epoch: int
    delete: bool
    """Delete its log as well."""


class LeaderAndIsrRequest(NamedTuple):
    """Lead these, follow those."""

    controller_id: int
    controller_epoch: int
    broker_epoch: int
    partitions: Mapping[TopicPartition, PartitionCommand]
    topic_ids: Mapping[str, UUID] = {}
    """Of those of the topics that have one."""
    brokers: Mapping[int, RegisteredBroker] = {}
    """All that are there: where leaders listen."""


class UpdateMetadataRequest(NamedTuple):
    """What clients get: who leads, and which brokers there are."""

    controller_id: int
    controller_epoch: int
    broker_epoch: int
    partitions: Mapping[TopicPartition, LeaderAndIsr]
    """Those that changed; the leader -2 says that a partition is being deleted."""
    live_brokers: tuple[int, ...]
    replicas: Mapping[TopicPartition, tuple[int, ...]] = {}
    """Of each of the partitions."""
    topic_ids: Mapping[str, UUID] = {}
    """Of those of the topics that have one."""
    brokers: Mapping[int, RegisteredBroker] = {}
    """Where the live brokers listen, and this controller where it is no broker."""


class StopReplicaRequest(NamedTuple):
    """Stop these."""

    controller_id: int
    controller_epoch: int
    broker_epoch: int
    partitions: Mapping[TopicPartition, StopPartition]


Command: TypeAlias = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
