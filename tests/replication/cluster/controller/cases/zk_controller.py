"""What the classes of Kafka 3.9.1's ZooKeeper controller decided."""

from functools import partial

from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.partition_states import PartitionState
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.replica_states import ReplicaState
from replication.cluster.controller.classic.selectors import Brokers, Selector, select
from tests.replication.cluster.controller.case import Case, Cases, Document, only

STATE_CHANGE_FAILED = "StateChangeFailedException"


def cases(document: Document) -> Cases:
    checks = {
        "leader_selector_cases": check_selector,
        "reassign_to_cases": check_reassign_to,
        "partition_transitions": partial(check_transition, PartitionState),
        "replica_transitions": partial(check_transition, ReplicaState),
        "offline_replica_isr_removal": check_isr_removal,
    }
    only(document, "source", *checks)
    for name, check in checks.items():
        for index, case in enumerate(document.get(name, ())):
            yield Case(case.get("id", f"{name}-{index}"), partial(check, case))


def check_selector(case: Document) -> None:
    only(case, "id", "selector", "why", "input", "expected")
    given, expected = case["input"], case["expected"]
    only(
        given,
        *("assigned_replicas", "adding_replicas", "removing_replicas", "isr", "leader", "leader_epoch"),
        *("live_or_shutting_down_brokers", "shutting_down_brokers", "unclean_enabled"),
    )
    only(
        expected,
        *("elected", "leader", "isr", "leader_epoch_delta", "leader_recovery_state"),
        *("leader_and_isr_receivers", "error", "error_old_selectors"),
    )
    selector = Selector(case["selector"])
    current = LeaderAndIsr(given["leader"], tuple(given["isr"]), given["leader_epoch"])
    assignment = assignment_of(given["assigned_replicas"], given["adding_replicas"], given["removing_replicas"])
    brokers = Brokers(frozenset(given["live_or_shutting_down_brokers"]), frozenset(given["shutting_down_brokers"]))
    state, receivers = select(selector, current, assignment, brokers, unclean_enabled=given["unclean_enabled"])
    elected = state is not None
    assert elected == expected["elected"]
    assert list(receivers) == expected["leader_and_isr_receivers"]
    assert (None if elected else STATE_CHANGE_FAILED) == expected.get("error")
    before_1_1 = name_error_before_1_1(selector, current, assignment, elected=elected)
    assert before_1_1 == expected.get("error_old_selectors")
    if state is not None:
        assert (state.leader, list(state.isr)) == (expected["leader"], expected["isr"])
        assert state.leader_epoch - current.leader_epoch == expected["leader_epoch_delta"]
        assert state.recovery_state.name == expected["leader_recovery_state"]


def name_error_before_1_1(
    selector: Selector, current: LeaderAndIsr, assignment: ReplicaAssignment, *, elected: bool
) -> str | None:
    """Name the exception that a selector of Kafka before 1.1 threw in this place; None where it chose."""
    if selector is Selector.PREFERRED and current.leader == assignment.replicas[0]:
        return "LeaderElectionNotNeededException"
    if elected:
        return None
    is_liveness = selector in {Selector.OFFLINE, Selector.REASSIGN}
    return "NoReplicaOnlineException" if is_liveness else "StateChangeFailedException"


def check_reassign_to(case: Document) -> None:
    only(case, "id", "why", "current", "target", "cancel", "expected")
    only(case["current"], "replicas", "adding", "removing")
    current = assignment_of(**case["current"])
    after = current.cancelled() if case.get("cancel") else current.reassign_to(case["target"])
    assert {
        "replicas": list(after.replicas),
        "adding": list(after.adding),
        "removing": list(after.removing),
        "origin_replicas": list(after.origin),
        "target_replicas": list(after.target),
        "being_reassigned": after.is_being_reassigned,
    } == case["expected"]


def check_transition(kind: type[PartitionState | ReplicaState], case: Document) -> None:
    only(case, "from", "to", "valid")
    assert kind(case["from"]).can_become(kind(case["to"])) == case["valid"]


def check_isr_removal(case: Document) -> None:
    only(
        case,
        *("id", "why", "isr", "leader", "offline_replica", "expected_isr", "expected_leader"),
        *("zk_write_and_epoch_bump", "derivation"),
    )
    before = LeaderAndIsr(case["leader"], tuple(case["isr"]), leader_epoch=5)
    after = before.without(case["offline_replica"])
    assert (list(after.isr), after.leader) == (case["expected_isr"], case["expected_leader"])
    assert after.leader_epoch - before.leader_epoch == int(case["zk_write_and_epoch_bump"])
    assert (after != before) == case["zk_write_and_epoch_bump"]


def assignment_of(replicas: list[int], adding: list[int], removing: list[int]) -> ReplicaAssignment:
    return ReplicaAssignment(tuple(replicas), tuple(adding), tuple(removing))
