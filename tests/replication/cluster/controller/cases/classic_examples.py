"""Examples of the ZooKeeper-era controller's ways, played on a small cluster."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import pytest

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.context import StateChange
from replication.cluster.controller.classic.controller import FIRST_BALANCE_MS, ClassicController, RunState
from replication.cluster.controller.classic.errors import StateChangeError
from replication.cluster.controller.classic.imbalance import imbalanced
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.machines.reassignment import Step
from replication.cluster.controller.classic.partition_states import PartitionState, initial_partition_state
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.replica_states import Replica, ReplicaState, initial_replica_state
from replication.cluster.controller.classic.settings import ClassicSettings
from replication.cluster.controller.classic.store import nodes
from replication.cluster.controller.classic.store.coordination_store import Delete, SetData
from replication.cluster.controller.classic.term import changes_between
from replication.cluster.controller.imbalance import is_imbalanced
from replication.cluster.controller.refusal import Refusal
from replication.records.metadata.configurations import UNCLEAN_LEADER_ELECTION
from replication.wire.messages.elect_leaders import ElectionType
from tests.replication.cluster.controller.case import Document, only
from tests.replication.cluster.controller.classic.chronicle import (
    check_order,
    is_change,
    is_metadata,
    journaled_commands,
)
from tests.replication.cluster.controller.classic.cluster import ClassicCluster, named

P = TopicPartition("t", 0)


def write_partitions(cluster: ClassicCluster, partitions: Mapping[str, Document]) -> None:
    topics: dict[str, dict[int, Sequence[int]]] = defaultdict(dict)
    for name, given in partitions.items():
        only(given, "replicas", "leader", "isr", "state")
        topics[named(name).topic][named(name).partition] = given["replicas"]
    for topic, assignments in topics.items():
        cluster.write_topic(topic, assignments)
    for name, given in partitions.items():
        if "leader" in given:
            cluster.write_state(named(name), LeaderAndIsr(given["leader"], tuple(given["isr"])))


def check_partitions(cluster: ClassicCluster, expected: Mapping[str, Document]) -> None:
    for name, wanted in expected.items():
        only(wanted, "leader", "isr", "state", "unchanged", "elected", "why")
        partition = named(name)
        state = cluster.state(partition)
        if "leader" in wanted:
            assert (state.leader, list(state.isr)) == (wanted["leader"], wanted["isr"])
        if "state" in wanted:
            assert cluster.context.partition_state(partition).value == wanted["state"]
        if "unchanged" in wanted:
            assert (state.version == 0) == wanted["unchanged"]
        if "elected" in wanted:
            online = StateChange(partition, PartitionState.OFFLINE, PartitionState.ONLINE)
            assert (online in cluster.changes) == wanted["elected"]


def kinds_of(changes: Iterable[StateChange]) -> list[str]:
    """The targets in their order, repetitions left out."""
    names = [each.target.value for each in changes if each.error is None]
    return [each for each, previous in zip(names, [None, *names], strict=False) if each != previous]


def check_failure(given: Document, expected: Document) -> None:
    only(given, "dead", "live", "unclean", "deleting", "partitions")
    only(expected, "order", "partitions", "replica_state")
    defaults = {UNCLEAN_LEADER_ELECTION: str(given.get("unclean", False)).lower()}
    cluster = ClassicCluster([*given["dead"], *given["live"]], ClassicSettings(defaults=defaults))
    write_partitions(cluster, given["partitions"])
    cluster.begin()
    if "deleting" in given:
        cluster.deaf.update(given["live"] + given["dead"])
    for topic in given.get("deleting", ()):
        cluster.ask_deletion(topic)
    del cluster.changes[:]
    for broker_id in given["dead"]:
        cluster.sessions.pop(broker_id).close()
    cluster.settle()
    check_partitions(cluster, expected["partitions"])
    for name, state in expected.get("replica_state", {}).items():
        partition, _, broker_id = name.rpartition("/")
        assert cluster.context.replica_state(Replica(named(partition), int(broker_id))).value == state
    if "order" in expected:
        done = {
            "leader-on-dead partitions -> OfflinePartition": "OfflinePartition",
            "all New/Offline partitions -> OnlinePartition with the offline rule": "OnlinePartition",
            "replicas on dead brokers -> OfflineReplica (removed from ISR)": "OfflineReplica",
        }
        assert kinds_of(cluster.changes) == [done[each] for each in expected["order"]]


def check_set_diff(given: Document, expected: Document) -> None:
    only(given, "known", "listed")
    known, listed = ({int(each): epoch for each, epoch in given[name].items()} for name in ("known", "listed"))
    assert changes_between(known, listed)._asdict() == expected


def check_startup(given: Document, expected: Document) -> None:
    """Beside what the example names there is a broker that was there, a reassignment, and a deletion that waits."""
    only(given, "starts", "live", "partitions")
    only(expected, "order", "partitions")
    starts, other = given["starts"], 50
    cluster = ClassicCluster([other, *({*given["live"]} - {starts})])
    cluster.write_topic("moving", {0: [other]})
    cluster.write_topic("deleted", {0: [other, starts]})
    write_partitions(cluster, given["partitions"])
    cluster.begin()
    cluster.ask_deletion("deleted")
    moving = TopicPartition("moving", 0)
    cluster.context.assignments[moving] = cluster.context.assignments[moving].reassign_to([starts, other])
    cluster.context.reassigning.add(moving)
    del cluster.changes[:], cluster.journal[:]
    cluster.register(starts)
    with journaled_commands(cluster):
        cluster.controller.process(0)
    check_partitions(cluster, expected["partitions"])
    partition = named(next(iter(given["partitions"])))
    steps: dict[str, Callable[[tuple[Any, ...]], bool]] = {
        "UpdateMetadata to existing brokers": is_metadata(cluster, other, with_partitions=False),
        "UpdateMetadata with all led partitions to the new broker": is_metadata(cluster, starts, with_partitions=True),
        "replicas on it -> OnlineReplica": is_change(Replica(partition, starts), ReplicaState.ONLINE),
        "New/Offline partitions -> OnlinePartition": is_change(partition, PartitionState.ONLINE),
        "resume reassignments that target it": is_change(Replica(moving, starts), ReplicaState.NEW),
        "resume topic deletions that have replicas on it": is_change(
            Replica(TopicPartition("deleted", 0), starts), ReplicaState.DELETION_STARTED
        ),
    }
    check_order(cluster, [(each, steps[each]) for each in expected.get("order", ())])


def check_controlled_shutdown(given: Document, expected: Document) -> None:
    only(given, "broker", "live", "partitions")
    only(expected, "partitions", "remaining_leaderships_returned")
    cluster = ClassicCluster(given["live"])
    write_partitions(cluster, given["partitions"])
    cluster.begin()
    epoch = cluster.context.broker_epochs[given["broker"]]
    remaining = cluster.controller.controlled_shutdown(given["broker"], epoch)
    check_partitions(cluster, expected["partitions"])
    assert [str(each) for each in remaining] == expected["remaining_leaderships_returned"]


def check_failover(given: Document, expected: Document) -> None:
    only(given, "live", "partitions")
    only(expected, "order", "initial", "initial_replicas", "after_start")
    if "order" in expected:
        check_failover_order(expected["order"])
        return
    live = frozenset(given["live"])
    for name, state in expected["initial"].items():
        stored = given["partitions"][name]
        current = LeaderAndIsr(stored["leader"], tuple(stored["isr"])) if "leader" in stored else None
        assert initial_partition_state(current, live).value == state
    for name, state in expected["initial_replicas"].items():
        assert initial_replica_state(int(name.rpartition("/")[2]), live).value == state
    cluster = ClassicCluster(given["live"])
    write_partitions(cluster, given["partitions"])
    cluster.begin()
    check_partitions(cluster, expected["after_start"])


def check_failover_order(order: list[str]) -> None:
    cluster = ClassicCluster([1, 2])
    cluster.write_topic("t", {0: [1, 2]})
    cluster.write_topic("moving", {0: [1]})
    cluster.write_topic("gone", {0: [1]})
    cluster.write_topic("balanced", {0: [2, 1]})
    cluster.write_state(TopicPartition("balanced", 0), LeaderAndIsr(1, (1, 2)))
    cluster.admin.create(nodes.ISR_CHANGE_PREFIX, nodes.encode_partitions([P]), sequence=True)
    cluster.admin.create(f"{nodes.DELETE_TOPICS}/gone")
    cluster.admin.create(nodes.PREFERRED_ELECTION, nodes.encode_partitions([TopicPartition("balanced", 0)]))
    moves = nodes.encode_reassignments({TopicPartition("moving", 0): (1, 2)})
    cluster.admin.create(nodes.REASSIGN_PARTITIONS, moves)
    with journaled_commands(cluster):
        cluster.controller.start(cluster.now)
    watched = {nodes.BROKER_IDS, nodes.TOPICS, nodes.DELETE_TOPICS, nodes.ISR_CHANGES}
    assert watched < {each[1] for each in cluster.journal if each[0] == "watch"}
    steps: dict[str, Callable[[tuple[Any, ...]], bool]] = {
        "increment controller epoch": lambda each: (
            each[0] == "write" and isinstance(each[1], SetData) and each[1].path == nodes.CONTROLLER_EPOCH
        ),
        "register watches (broker ids, topics, deletions, ISR change, preferred election, reassign)": (
            lambda each: each == ("watch", nodes.BROKER_IDS)
        ),
        "drop stale ISR-change notifications": lambda each: (
            each[0] == "write" and isinstance(each[1], Delete) and each[1].path.startswith(nodes.ISR_CHANGES)
        ),
        "load context: live brokers, topics, assignments, leader/ISR": lambda each: each == ("read", nodes.TOPICS),
        "load pending deletions and ineligible ones": lambda each: each == ("read", nodes.DELETE_TOPICS),
        "UpdateMetadata (live brokers) to everyone": is_metadata(cluster, 1, with_partitions=False),
        "replica state machine start": is_change(Replica(P, 1), ReplicaState.ONLINE),
        "partition state machine start": is_change(P, PartitionState.ONLINE),
        "resume reassignments": is_change(Replica(TopicPartition("moving", 0), 2), ReplicaState.NEW),
        "try pending deletions": is_change(TopicPartition("gone", 0), PartitionState.NON_EXISTENT),
        "pending preferred elections": is_change(TopicPartition("balanced", 0), PartitionState.ONLINE),
    }
    assert order[-1] == "start rebalance timer (first check after 5 s)"
    assert cluster.controller.wake_at == cluster.now + FIRST_BALANCE_MS == 5000
    check_order(cluster, [(each, steps[each]) for each in order[:-1]])


def check_fencing(given: Document, expected: Document) -> None:
    only(given, "my_epoch", "stored_controller_epoch", "candidates", "stored_epoch")
    only(expected, "error", "write", "winners", "epoch")
    cluster = ClassicCluster([1, 2])
    if "candidates" in given:
        cluster.admin.create(nodes.CONTROLLER_EPOCH, str(given["stored_epoch"]).encode())
        rivals = [ClassicController(each, cluster.tree.session()) for each in given["candidates"]]
        for rival in rivals:
            rival.start(0)
        assert sum(each.state is RunState.CONTROLLER for each in rivals) == expected["winners"]
        assert max(each.epoch for each in rivals) == expected["epoch"]
        return
    cluster.admin.create(nodes.CONTROLLER_EPOCH, str(given["my_epoch"] - 1).encode())
    cluster.write_topic("t", {0: [1, 2]})
    cluster.begin()
    stored = cluster.state(P)._replace(controller_epoch=given["stored_controller_epoch"])
    cluster.admin.set(nodes.state_path(P), nodes.encode_state(stored))
    before = cluster.state(P)
    outcome = cluster.term.partitions.change([P], PartitionState.ONLINE)[P]
    assert isinstance(outcome, StateChangeError) == ("error" in expected)
    assert expected.get("error", "") in (StateChangeError.__doc__ or "")
    assert (cluster.state(P) != before) == expected["write"]


def check_elect_request(given: Document, expected: Document) -> None:
    only(given, "election_type", "replicas", "leader", "live", "isr", "deleting", "exists", "active")
    only(expected, "error", "message")
    cluster = ClassicCluster(given.get("live", [1, 2, 3]))
    if given.get("exists", True):
        cluster.write_topic("t", {0: given.get("replicas", [1, 2])})
    if "leader" in given:
        cluster.write_state(P, LeaderAndIsr(given["leader"], tuple(given["isr"])))
    if given.get("active", True):
        cluster.begin()
    if given.get("deleting"):
        cluster.deaf.update([1, 2])
        cluster.ask_deletion("t")
    election_type = ElectionType[given["election_type"]]
    if not given.get("active", True):
        with pytest.raises(Refusal) as raised:
            cluster.controller.elect_leaders(election_type, [P])
        assert raised.value.name == expected["error"]
        return
    (answer,) = cluster.controller.elect_leaders(election_type, [P])
    assert answer.error.name == expected["error"]
    if "message" in expected:
        assert answer.message == expected["message"]


def check_imbalance(given: Document, expected: Document) -> None:
    only(given, "partitions_preferring_broker", "led_elsewhere", "percentage", "broker", "partitions", "live")
    only(expected, "trigger", "elected")
    if "partitions" not in given:
        preferring, elsewhere = given["partitions_preferring_broker"], given["led_elsewhere"]
        assert is_imbalanced(preferring, elsewhere, given["percentage"]) == expected["trigger"]
        return
    assignments = {
        named(name): ReplicaAssignment(tuple(each["replicas"])) for name, each in given["partitions"].items()
    }
    states = {
        named(name): LeaderAndIsr(each["leader"], tuple(each["isr"])) for name, each in given["partitions"].items()
    }
    found = imbalanced(assignments, states, frozenset(given["live"]), given["percentage"])
    assert [str(each) for each in found] == expected["elected"]
    preferring = [each for each, assignment in assignments.items() if assignment.replicas[0] == given["broker"]]
    elsewhere = sum(states[each].leader != given["broker"] for each in preferring)
    assert is_imbalanced(len(preferring), elsewhere, given["percentage"]) == expected["trigger"]


def check_isr_change(given: Document, expected: Document) -> None:
    only(given, "children")
    only(expected, "refresh_cache_for", "update_metadata_to", "deleted_children", "elections")
    assert expected["update_metadata_to"] == "all live or shutting-down brokers"
    cluster = ClassicCluster([1, 2])
    changed = sorted({named(each) for each in chain(*given["children"].values())})
    assert [str(each) for each in changed] == sorted(expected["refresh_cache_for"])
    for topic in {each.topic for each in changed}:
        numbers = [each.partition for each in changed if each.topic == topic]
        cluster.write_topic(topic, {number: [1, 2] for number in numbers})
    cluster.begin()
    cluster.controller.controlled_shutdown(2, cluster.context.broker_epochs[2])
    cluster.settle()
    for partition in changed:
        shrunk = cluster.state(partition)._replace(isr=(1,))
        cluster.admin.set(nodes.state_path(partition), nodes.encode_state(shrunk))
    for name, partitions in given["children"].items():
        data = nodes.encode_partitions([named(each) for each in partitions])
        cluster.admin.create(f"{nodes.ISR_CHANGES}/{name}", data)
    del cluster.changes[:], cluster.sent[:], cluster.journal[:]
    cluster.settle()
    assert [each for each in changed if cluster.context.states[each] == cluster.state(each)] == changed
    told = {broker: sorted(command.partitions) for broker, command in cluster.told_metadata()}
    assert told == {1: changed, 2: changed}
    assert cluster.deleted_nodes() == [f"{nodes.ISR_CHANGES}/{name}" for name in expected["deleted_children"]]
    assert cluster.admin.children(nodes.ISR_CHANGES) == []
    assert len(cluster.changes) == expected["elections"]


def check_walk(given: Document, expected: Document) -> None:
    only(given, "oar", "rar", "leader", "isr")
    only(expected, "states", "replica_states_at_end", "leader_epoch_bumps_min", "admin_reassign_entry_removed")
    cluster = reassignable(given)
    wished = cluster.assignment(P).reassign_to(given["rar"])
    wanted = {each["step"]: each for each in expected["states"]}
    check_step(cluster, wanted.pop(0, None))
    for step in steps(cluster, wished):
        check_step(cluster, wanted.pop(step, None))
    assert not wanted
    for broker_id, state in expected["replica_states_at_end"].items():
        assert cluster.context.replica_state(Replica(P, int(broker_id))).value == state
    assert cluster.state(P).leader_epoch >= expected["leader_epoch_bumps_min"]
    assert cluster.admin.exists(nodes.REASSIGN_PARTITIONS) != expected["admin_reassign_entry_removed"]


def steps(cluster: ClassicCluster, wished: ReplicaAssignment) -> Iterator[Step]:
    """Move the partition; where that waits for new replicas, let them come into the ISR."""
    yield from cluster.term.reassignment.start(P, wished)
    if P in cluster.context.reassigning:
        catch_up(cluster)
        yield from cluster.term.reassignment.go_on(P)


def catch_up(cluster: ClassicCluster) -> None:
    state = cluster.state(P)
    isr = tuple(dict.fromkeys((*state.isr, *cluster.assignment(P).target)))
    cluster.admin.set(nodes.state_path(P), nodes.encode_state(state._replace(isr=isr)))


def check_step(cluster: ClassicCluster, wanted: Document | None) -> None:
    if wanted is not None:
        only(wanted, "step", "ar", "leader", "isr")
        state = cluster.state(P)
        assert {*cluster.assignment(P).replicas} == {*wanted["ar"]}
        assert (state.leader, {*state.isr}) == (wanted["leader"], {*wanted["isr"]})


def check_crash(given: Document, expected: Document) -> None:
    only(given, "oar", "rar", "crash_after_step")
    only(expected, "final")
    cluster = reassignable({**given, "leader": given["oar"][0], "isr": given["oar"]})
    for step in steps(cluster, cluster.assignment(P).reassign_to(given["rar"])):
        if step == given["crash_after_step"]:
            break
    cluster.controller_session.close()
    stored = given["rar"] if step >= Step.STORED_TARGET else [*given["oar"], *given["rar"]]
    assert {*cluster.assignment(P).replicas} == {*stored}
    if step < Step.IN_SYNC:
        catch_up(cluster)
    cluster.elect_controller()
    cluster.begin()
    final = expected["final"]
    only(final, "ar", "isr", "leader_in")
    assert list(cluster.assignment(P).replicas) == final["ar"]
    assert {*cluster.state(P).isr} == {*final["isr"]}
    assert cluster.state(P).leader in final["leader_in"]
    assert not cluster.admin.exists(nodes.REASSIGN_PARTITIONS)


def check_wait(given: Document, expected: Document) -> None:
    only(given, "oar", "rar", "leader", "isr")
    only(expected, "stays_at", "replica_state")
    cluster = reassignable(given)
    cluster.settle()
    assert cluster.admin.exists(nodes.REASSIGN_PARTITIONS)
    check_step(cluster, expected["stays_at"])
    for broker_id, state in expected["replica_state"].items():
        assert cluster.context.replica_state(Replica(P, int(broker_id))).value == state


def reassignable(given: Document) -> ClassicCluster:
    """A cluster that is asked for a reassignment and did not look yet."""
    cluster = ClassicCluster(sorted({*given["oar"], *given["rar"]}))
    write_partitions(cluster, {"t-0": {"replicas": given["oar"], "leader": given["leader"], "isr": given["isr"]}})
    cluster.begin()
    cluster.admin.create(nodes.REASSIGN_PARTITIONS, nodes.encode_reassignments({P: given["rar"]}))
    return cluster
