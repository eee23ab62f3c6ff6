"""Examples of how the ZooKeeper-era controller creates and deletes topics."""

import re
from typing import Any

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.partition_states import PartitionState
from replication.cluster.controller.classic.replica_states import Replica, ReplicaState
from replication.cluster.controller.classic.settings import ClassicSettings
from replication.cluster.controller.classic.store import nodes
from tests.replication.cluster.controller.case import Document, only
from tests.replication.cluster.controller.classic.chronicle import check_order, is_change
from tests.replication.cluster.controller.classic.cluster import ClassicCluster

WHILE_DELETING = "replica_states_while_replica_{}_is_deleting"
ONCE_CONFIRMED = "replica_states_after_replica_{}_confirms"
ONCE_RETURNED = "after_broker_{}_returns"
ONCE_STARTED = "then_broker_{}_starts"


def check_creation(given: Document, expected: Document) -> None:
    only(given, "assignment", "live")
    starting = numbered(expected, ONCE_STARTED)
    only(
        expected,
        *("order", "leader", "isr", "leader_epoch", "partition_state"),
        *map(ONCE_STARTED.format, starting),
    )
    cluster = ClassicCluster(given["live"])
    cluster.begin()
    (number, replicas), *_ = given["assignment"].items()
    partition = TopicPartition("t", int(number))
    cluster.write_topic("t", {int(each): to for each, to in given["assignment"].items()})
    cluster.settle()
    check_created(cluster, partition, expected)
    if "order" in expected:
        check_creation_order(cluster, partition, replicas, expected["order"])
    for broker_id, then in starting.items():
        assert not cluster.admin.exists(nodes.state_path(partition))
        cluster.start(broker_id)
        check_created(cluster, partition, then)


def check_created(cluster: ClassicCluster, partition: TopicPartition, expected: Document) -> None:
    if "partition_state" in expected:
        assert cluster.context.partition_state(partition).value == expected["partition_state"]
    if "leader" in expected:
        state = cluster.state(partition)
        assert (state.leader, list(state.isr)) == (expected["leader"], expected["isr"])
        assert state.leader_epoch == expected.get("leader_epoch", 0)


def check_creation_order(
    cluster: ClassicCluster, partition: TopicPartition, replicas: list[int], order: list[str]
) -> None:
    first, names = Replica(partition, replicas[0]), ",".join(map(str, replicas))
    steps = {
        "register partition-change listener": lambda each: each == ("watch", nodes.topic_path("t")),
        f"partition {partition.partition}: NonExistentPartition->NewPartition": is_change(
            partition, PartitionState.NEW
        ),
        f"replicas {names}: NonExistentReplica->NewReplica": is_change(first, ReplicaState.NEW),
        f"partition {partition.partition}: NewPartition->OnlinePartition (leader+ISR written, LeaderAndIsr to ISR)": (
            is_change(partition, PartitionState.ONLINE)
        ),
        f"replicas {names}: NewReplica->OnlineReplica": is_change(first, ReplicaState.ONLINE),
    }
    check_order(cluster, [(each, steps[each]) for each in order])
    told = [broker_id for broker_id, _ in cluster.told_to_lead_or_follow(partition)]
    assert sorted(told) == sorted(replicas)


def check_deletion(given: Document, expected: Document) -> None:
    only(given, "topic", "assignment", "live", "reassigning", "delete_topic_enable")
    topic, assignments = given["topic"], given.get("assignment", {"0": [1, 2]})
    numbers = sorted({each for replicas in assignments.values() for each in replicas})
    cluster = ClassicCluster(numbers, ClassicSettings(delete_topic_enable=given.get("delete_topic_enable", True)))
    if topic != "nope":
        cluster.write_topic(topic, {int(number): each for number, each in assignments.items()})
        cluster.admin.create(f"{nodes.TOPIC_CONFIGS}/{topic}", nodes.encode_config({}))
    cluster.begin()
    for broker_id in set(numbers) - set(given.get("live", numbers)):
        cluster.kill(broker_id)
    if given.get("reassigning"):
        cluster.start(3)
        cluster.ask_reassignment({TopicPartition(topic, 0): [3, 2]})
    del cluster.changes[:], cluster.journal[:], cluster.sent[:]
    cluster.deaf.update(numbered(expected, WHILE_DELETING))
    cluster.ask_deletion(topic)
    check_deleted(cluster, topic, expected)


def check_deleted(cluster: ClassicCluster, topic: str, expected: Document) -> None:
    deleting, confirmed = numbered(expected, WHILE_DELETING), numbered(expected, ONCE_CONFIRMED)
    returning = numbered(expected, ONCE_RETURNED)
    only(
        expected,
        *("partition_states", "replica_states", "stop_replica", "metadata_leader_during_delete"),
        *("nodes_removed_in_order", "topic_ineligible", "topic_still_present"),
        *("state_changes", "after_reassignment_completes"),
        *map(WHILE_DELETING.format, deleting),
        *map(ONCE_CONFIRMED.format, confirmed),
        *map(ONCE_RETURNED.format, returning),
    )
    partition = TopicPartition(topic, 0)
    if "topic_ineligible" in expected:
        assert (topic in cluster.context.parked) == expected["topic_ineligible"]
    for states in deleting.values():
        check_replicas(cluster, partition, states)
    cluster.deaf.clear()
    cluster.settle()
    for states in confirmed.values():
        check_replicas(cluster, partition, states)
    if "topic_still_present" in expected:
        assert cluster.admin.exists(nodes.topic_path(topic)) == expected["topic_still_present"]
    if "state_changes" in expected:
        assert cluster.changes == expected["state_changes"]
    if "partition_states" in expected:
        check_way(cluster, partition, expected)
    if "nodes_removed_in_order" in expected:
        below = nodes.topic_path(topic) + "/"
        removed = [each for each in cluster.deleted_nodes() if not each.startswith(below)]
        assert removed == expected["nodes_removed_in_order"]
    for broker_id, then in returning.items():
        cluster.start(broker_id)
        check_removed(cluster, topic, then)
    if "after_reassignment_completes" in expected:
        cluster.set_isr(partition, 1, 2, 3)
        check_removed(cluster, topic, expected["after_reassignment_completes"])


def check_removed(cluster: ClassicCluster, topic: str, expected: Document) -> None:
    only(expected, "topic_removed")
    assert (not cluster.admin.exists(nodes.topic_path(topic))) == expected["topic_removed"]
    assert (topic not in cluster.context.topics) == expected["topic_removed"]


def check_replicas(cluster: ClassicCluster, partition: TopicPartition, expected: Document) -> None:
    for broker_id, state in expected.items():
        assert cluster.context.replica_state(Replica(partition, int(broker_id))).value == state


def check_way(cluster: ClassicCluster, partition: TopicPartition, expected: Document) -> None:
    """The states that the partition and each of its replicas went through, and what brokers were told."""
    assert way_of(cluster, partition) == expected["partition_states"]
    for broker_id in cluster.sessions:
        assert way_of(cluster, Replica(partition, broker_id)) == expected["replica_states"]
        stops = [{"delete": delete} for to, delete in cluster.told_to_stop(partition) if to == broker_id]
        assert stops == expected["stop_replica"]
    told = {command.partitions[partition].leader for _, command in cluster.told_metadata() if command.partitions}
    assert told == {expected["metadata_leader_during_delete"]}


def way_of(cluster: ClassicCluster, subject: TopicPartition | Replica) -> list[str]:
    changes = [each for each in cluster.changes if each.subject == subject]
    return [changes[0].previous.value, *(each.target.value for each in changes)]


def numbered(expected: Document, name: str) -> dict[int, Any]:
    """Return the fields of this name, by the broker that it tells."""
    pattern = re.compile(name.format(r"(\d+)"))
    return {int(match[1]): each for field, each in expected.items() if (match := pattern.fullmatch(field))}
