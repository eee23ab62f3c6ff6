"""What a controller does with brokers, on its own, and with its log, beyond the recorded cases."""

from pathlib import Path
from uuid import UUID

import pytest

from logstore import Log, LogConfig
from replication.cluster.controller.brokers.heartbeats import ControlState
from replication.cluster.controller.controller import Controller, ControllerSettings
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.topics.reassignments import ReassignmentAnswer, ReassignmentRequest
from replication.records.metadata.metadata_log import append_metadata, read_metadata
from replication.records.metadata.metadata_version import METADATA_VERSION_FEATURE, MetadataVersion
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import (
    BrokerRegistrationChangeRecord,
    Endpoint,
    FenceBrokerRecord,
    MetadataRecord,
    SupportedFeature,
    UnfenceBrokerRecord,
)
from replication.wire.error_code import ErrorCode
from replication.wire.messages.broker_registration import Listener, SecurityProtocol
from tests.replication.cluster.controller.simulation import Simulation
from tests.replication.cluster.controller.small_cluster import SmallCluster, directory, named

SESSION = ControllerSettings().broker_session_timeout_ms


def test_a_log_that_was_written_makes_the_state_again(tmp_path: Path) -> None:
    simulation = Simulation(7)
    simulation.run()
    path = tmp_path / "__cluster_metadata-0"
    path.mkdir()
    with Log.open(path, LogConfig()) as log:
        append_metadata(log, simulation.log, leader_epoch=1, metadata_version=simulation.level)
    rebuilt = Controller("simulated")
    for batch in read_metadata(path):
        rebuilt.replay(batch.records)
    assert rebuilt.cluster.image == simulation.controller.cluster.image
    assert rebuilt.cluster.index == simulation.controller.cluster.index
    assert rebuilt.cluster.topic_names == simulation.controller.cluster.topic_names
    assert rebuilt.next_offset == simulation.controller.next_offset


def test_who_falls_silent_is_fenced_one_after_the_other() -> None:
    cluster = SmallCluster()
    cluster.topic("a", (1, 2, 3))
    cluster.controller.activate(0)
    assert cluster.controller.wake_at == SESSION
    assert cluster.controller.tick(SESSION) is None
    fenced = []
    while (decision := cluster.controller.tick(SESSION + 1)) is not None:
        cluster.done(decision)
        fenced.append({broker.id for broker in cluster.controller.cluster.image.brokers.values() if broker.fenced})
    assert fenced == [{1}, {1, 2}, {1, 2, 3}]
    assert cluster.partition("a").isr == (3,)
    assert cluster.partition("a").leader == -1


def test_a_heartbeat_keeps_a_session() -> None:
    cluster = SmallCluster(1)
    cluster.now = SESSION
    cluster.heartbeat(1)
    assert cluster.controller.tick(SESSION + 1) is None
    assert cluster.controller.wake_at == 2 * SESSION


def test_a_new_controller_gives_every_broker_a_whole_session() -> None:
    old = SmallCluster()
    controller = Controller("small")
    controller.replay(list(old.controller.cluster.image.records()))
    controller.activate(1_000_000)
    assert controller.tick(1_000_000 + SESSION) is None
    assert controller.tick(1_000_001 + SESSION) is not None


def test_leaders_are_balanced_and_topics_helped_at_intervals() -> None:
    settings = ControllerSettings(
        leader_imbalance_check_interval_ms=100, unclean_leader_election_interval_ms=150, broker_session_timeout_ms=10**9
    )
    cluster = SmallCluster(2, settings=settings)
    cluster.topic("a", (1, 2))
    cluster.topic("b", (1, 2))
    cluster.fence(1)
    cluster.heartbeat(1)
    cluster.set_isr("a", 2, 1)
    cluster.fence(2)
    assert cluster.partition("a").leader == 1
    assert cluster.partition("b").leader == -1
    cluster.heartbeat(2)
    cluster.set_isr("a", 1, 2)
    cluster.fence(1)
    cluster.heartbeat(1)
    cluster.set_isr("a", 2, 1)
    cluster.controller.activate(0)
    assert cluster.controller.wake_at == 100
    decision = cluster.controller.tick(100)
    assert decision is not None
    cluster.done(decision)
    assert cluster.partition("a").leader == 1
    assert cluster.controller.wake_at == 150
    decision = cluster.controller.tick(150)
    assert decision is not None
    assert decision.records == []
    assert cluster.controller.wake_at == 200


def test_without_balancing_leaders_stay_where_they_are() -> None:
    cluster = SmallCluster(settings=ControllerSettings(leader_imbalance_check_interval_ms=None))
    cluster.controller.activate(0)
    for broker in (1, 2, 3):
        cluster.now = 10**6
        cluster.heartbeat(broker)
    decision = cluster.controller.tick(10**6)
    assert decision is not None  # the pass for unclean elections
    assert cluster.controller.tick(10**6) is None


def test_a_broker_that_crashed_is_not_eligible_any_more() -> None:
    cluster = SmallCluster(elr=True)
    cluster.topic("a", (1, 2), min_insync_replicas="2")
    cluster.fence(1)
    cluster.fence(2)
    assert set(cluster.partition("a").elr) == {1, 2}
    cluster.now += SESSION + 1
    cluster.register(1, incarnation=2)
    assert cluster.partition("a").elr == (2,)
    cluster.register(2, incarnation=2, previous_broker_epoch=cluster.epochs[2])
    assert cluster.partition("a").elr == (2,), "it ended in order"


def test_a_broker_that_crashed_leaves_the_isr_even_where_nobody_is_left() -> None:
    cluster = SmallCluster(elr=True)
    cluster.topic("a", (1,))
    cluster.now += SESSION + 1
    cluster.register(1, incarnation=2)
    state = cluster.partition("a")
    assert (state.isr, state.elr, state.last_known_elr, state.leader) == ((), (), (1,), -1)
    cluster.heartbeat(1)
    assert (cluster.partition("a").leader, cluster.partition("a").leader_recovery_state) == (1, 1)


def test_an_unregistered_broker_is_in_no_isr_and_no_elr() -> None:
    cluster = SmallCluster(elr=True)
    cluster.topic("a", (1, 2, 3), min_insync_replicas="2")
    cluster.topic("b", (1, 2), min_insync_replicas="2")
    cluster.fence(1)
    cluster.done(cluster.controller.unregister_broker(1))
    assert 1 not in cluster.partition("a").isr
    assert cluster.partition("b").isr == (2,)
    with pytest.raises(Refusal) as refusal:
        cluster.controller.unregister_broker(1)
    assert refusal.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_broker_that_cannot_do_what_is_finalised_is_refused() -> None:
    cluster = SmallCluster(elr=True)
    with pytest.raises(Refusal, match=r"finalized version 1 of eligible\.leader\.replicas\.version"):
        cluster.register(9, features={METADATA_VERSION_FEATURE: range(1, 41)})


def test_where_a_broker_listens_and_what_it_supports_is_recorded() -> None:
    cluster = SmallCluster(1)
    listener = Listener("INSIDE", "broker-1", 9_093, SecurityProtocol.SSL)
    cluster.register(1, listeners=(listener,), features={METADATA_VERSION_FEATURE: range(3, 41)})
    broker = cluster.controller.cluster.image.brokers[1]
    assert broker.listeners == {
        "INSIDE": Endpoint(name="INSIDE", host="broker-1", port=9_093, security_protocol=SecurityProtocol.SSL)
    }
    assert broker.features == {
        METADATA_VERSION_FEATURE: SupportedFeature(
            name=METADATA_VERSION_FEATURE, min_supported_version=3, max_supported_version=40
        )
    }


def test_nobody_registers_as_nobody() -> None:
    with pytest.raises(Refusal, match="INVALID_REGISTRATION: Broker ID -1 is negative"):
        SmallCluster().register(-1, log_dirs=(directory(9),))


def test_what_lay_in_a_failed_directory_is_led_by_others() -> None:
    cluster = SmallCluster(2)
    other = UUID(int=7777)
    cluster.register(1, log_dirs=(directory(1), other))
    cluster.heartbeat(1)
    cluster.topic("a", (1, 2))
    assert cluster.partition("a").directories[0] == UUID(int=1), "the broker chooses among two"
    cluster.topic("b", (2, 1))
    records = cluster.controller.heartbeat(cluster.request(1, offline_log_dirs=(other,)), cluster.now).records
    assert [type(record) for record in records] == [BrokerRegistrationChangeRecord]
    cluster.register(1)
    cluster.heartbeat(1)
    cluster.topic("c", (1, 2))
    cluster.heartbeat(1, offline_log_dirs=(directory(1),))
    assert cluster.partition("c").isr == (2,)
    assert cluster.partition("c").leader == 2


def test_before_3_3_fencing_has_records_of_its_own() -> None:
    cluster = SmallCluster(1, level=MetadataVersion.V3_3_IV0)
    records: list[MetadataRecord] = cluster.controller.heartbeat(cluster.request(1, want_fence=True), 0).records
    assert [type(record) for record in records] == [FenceBrokerRecord]
    cluster = SmallCluster(1, level=MetadataVersion.V3_3_IV0)
    cluster.fence(1)
    records = cluster.controller.heartbeat(cluster.request(1), 0).records
    assert [type(record) for record in records] == [UnfenceBrokerRecord]


def test_a_reassignment_is_not_cancelled_where_that_would_lose_records_unasked() -> None:
    cluster = SmallCluster(3)
    cluster.topic("a", (1, 2))
    reassign(cluster, "a-0", (3,))
    cluster.fence(1)
    assert cluster.partition("a").leader == 2
    cluster.configure("a", "unclean.leader.election.enable", "true")
    cluster.fence(2)
    assert cluster.partition("a").isr == (3,), "the one that is being added, which lost what it did not have"
    cluster.configure("a", "unclean.leader.election.enable", "false")
    cancel = ReassignmentRequest(named("a-0"), None)
    (answer,) = cluster.controller.alter_reassignments([cancel]).answer
    assert answer.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert answer.message is not None
    assert "would require an unclean leader election" in answer.message
    cluster.configure("a", "unclean.leader.election.enable", "true")
    cluster.heartbeat(1)
    (answer,) = cluster.done(cluster.controller.alter_reassignments([cancel]))
    assert answer.error is ErrorCode.NONE
    assert cluster.partition("a").replicas == (1, 2)
    assert cluster.partition("a").leader == 1


def eligible_only(*eligible: int, as_kafka: bool = False) -> SmallCluster:
    """Return a cluster in which a-0 moves from 1, 2, 3 to 4, and nobody is in sync but some are eligible."""
    cluster = SmallCluster(4, elr=True, settings=ControllerSettings(as_kafka=as_kafka))
    cluster.topic("a", (1, 2, 3), unclean_leader_election_enable="true")
    for broker_id in eligible:
        cluster.fence(broker_id)
    moving = PartitionRegistration(
        replicas=(4, 1, 2, 3),
        isr=(),
        leader=-1,
        adding_replicas=(4,),
        removing_replicas=(1, 2, 3),
        elr=eligible,
        directories=(UUID(int=1),) * 4,
    )
    cluster.controller.replay([moving.record(cluster.key("a").topic_id, 0)])
    return cluster


def cancelled(cluster: SmallCluster) -> ReassignmentAnswer:
    return cluster.done(cluster.controller.alter_reassignments([ReassignmentRequest(named("a-0"), None)]))[0]


@pytest.mark.parametrize("eligible", [(2,), (2, 3), (4,)])
def test_a_reassignment_is_not_cancelled_past_those_that_have_all_records(eligible: tuple[int, ...]) -> None:
    cluster = eligible_only(*eligible)
    answer = cancelled(cluster)
    assert answer.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert answer.message is not None
    assert "replica 1 would lead without records that the eligible leader replicas" in answer.message
    assert cluster.partition("a").elr == eligible
    assert cluster.partition("a").leader == -1


def test_once_one_that_is_eligible_is_back_the_reassignment_is_cancelled_without_loss() -> None:
    cluster = eligible_only(2)
    cluster.heartbeat(2)
    assert (cluster.partition("a").leader, cluster.partition("a").isr) == (2, (2,))
    assert cancelled(cluster).error is ErrorCode.NONE
    assert (cluster.partition("a").leader, cluster.partition("a").replicas) == (2, (1, 2, 3))


def test_a_reassignment_is_cancelled_where_the_first_replica_is_eligible() -> None:
    cluster = eligible_only(1, 3)
    cluster.fence(2)
    assert cancelled(cluster).error is ErrorCode.NONE
    assert (cluster.partition("a").isr, cluster.partition("a").replicas) == ((1,), (1, 2, 3))
    cluster.heartbeat(1)
    assert cluster.partition("a").leader == 1


def test_under_kafka_s_own_rules_a_cancelled_reassignment_loses_what_those_eligible_have() -> None:
    cluster = eligible_only(2, as_kafka=True)
    assert cancelled(cluster).error is ErrorCode.NONE
    state = cluster.partition("a")
    assert (state.leader, state.isr, state.elr, state.leader_recovery_state) == (1, (1,), (), 0)


def test_what_is_being_reassigned_is_listed() -> None:
    cluster = SmallCluster(3)
    cluster.topic("a", (1,), (1,))
    cluster.topic("b", (2,))
    reassign(cluster, "a-1", (2, 3))
    reassign(cluster, "b-0", (1,))
    ongoing = cluster.controller.list_reassignments()
    assert [str(each.partition) for each in ongoing] == ["a-1", "b-0"]
    assert ongoing[0].state.adding_replicas == (2, 3)
    assert ongoing[0].state.removing_replicas == (1,)
    assert [str(each.partition) for each in cluster.controller.list_reassignments([named("b-0"), named("a-0")])] == [
        "b-0"
    ]


def test_another_number_of_replicas_can_be_ruled_out() -> None:
    cluster = SmallCluster(3)
    cluster.topic("a", (1, 2), (1, 2))
    decision = cluster.controller.alter_reassignments(
        [ReassignmentRequest(named("a-0"), (1, 2, 3)), ReassignmentRequest(named("a-1"), (2, 3))],
        allow_replication_factor_change=False,
    )
    assert decision.answer[0].message == "The replication factor is changed from 2 to 3"
    assert decision.answer[0].error is ErrorCode.INVALID_REPLICATION_FACTOR
    assert decision.answer[1].error is ErrorCode.NONE


def reassign(cluster: SmallCluster, partition: str, replicas: tuple[int, ...]) -> None:
    (answer,) = cluster.done(cluster.controller.alter_reassignments([ReassignmentRequest(named(partition), replicas)]))
    assert answer.error is ErrorCode.NONE, answer


def test_the_last_known_leader_does_not_lead_what_was_reassigned_away_from_it() -> None:
    cluster = SmallCluster(elr=True)
    cluster.topic("a", (1, 2))
    topic_id = cluster.key("a").topic_id
    left = PartitionRegistration(
        replicas=(1, 2), isr=(), leader=-1, last_known_elr=(3,), directories=(UUID(int=1),) * 2
    )
    cluster.controller.replay([left.record(topic_id, 0)])
    cluster.fence(1)
    cluster.heartbeat(1)
    assert cluster.partition("a").leader == -1


def test_a_broker_that_registers_again_while_it_shuts_down_begins_anew() -> None:
    cluster = SmallCluster(2)
    cluster.topic("a", (1, 2))
    assert cluster.heartbeat(1, want_shut_down=True).in_controlled_shutdown
    cluster.register(1)
    assert cluster.controller.heartbeats.state(1) is ControlState.UNFENCED
