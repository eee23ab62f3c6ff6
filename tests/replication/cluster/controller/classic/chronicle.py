"""How it is seen in which order things happened to a cluster."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.commands.broker_queue import BrokerQueue
from replication.cluster.controller.classic.commands.commands import Command, UpdateMetadataRequest
from replication.cluster.controller.classic.replica_states import Replica
from tests.replication.cluster.controller.classic.cluster import ClassicCluster


def journaled_commands(cluster: ClassicCluster) -> Any:
    """Note ("send", queue, command) as well."""
    add = BrokerQueue.add

    def noted(queue: BrokerQueue, command: Command) -> None:
        cluster.journal.append(("send", queue, command))
        add(queue, command)

    return patch.object(BrokerQueue, "add", noted)


def is_change(subject: TopicPartition | Replica, target: object) -> Callable[[tuple[Any, ...]], bool]:
    return lambda each: (
        each[0] == "change"
        and (each[1].subject, each[1].target, each[1].error)
        == (
            subject,
            target,
            None,
        )
    )


def is_metadata(cluster: ClassicCluster, broker_id: int, *, with_partitions: bool) -> Callable[[tuple[Any, ...]], bool]:
    return lambda each: (
        each[0] == "send"
        and each[1] is cluster.controller.queues[broker_id]
        and isinstance(each[2], UpdateMetadataRequest)
        and bool(each[2].partitions) == with_partitions
    )


def check_order(cluster: ClassicCluster, steps: list[tuple[str, Callable[[tuple[Any, ...]], bool]]]) -> None:
    """Each step is first seen after the one before it."""
    at = -1
    for name, is_step in steps:
        seen = next((index for index, each in enumerate(cluster.journal) if is_step(each)), None)
        assert seen is not None, f"{name} did not happen"
        assert seen > at, f"{name} came too early"
        at = seen
