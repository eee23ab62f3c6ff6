"""What a ZooKeeper-era controller decides beyond the recorded cases."""

from unittest.mock import patch

import pytest

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.commands.commands import LeaderAndIsrRequest, UpdateMetadataRequest
from replication.cluster.controller.classic.controller import ClassicController, RunState
from replication.cluster.controller.classic.elections import Trigger
from replication.cluster.controller.classic.errors import (
    StateChangeError,
    TakeOverError,
)
from replication.cluster.controller.classic.imbalance import imbalanced
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.partition_states import PartitionState
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.replica_states import Replica, ReplicaState
from replication.cluster.controller.classic.settings import ClassicSettings
from replication.cluster.controller.classic.store import nodes
from replication.cluster.controller.classic.store.cluster_store import ClusterStore
from replication.cluster.controller.elections import ElectionAnswer
from replication.cluster.controller.refusal import Refusal
from replication.records.metadata.configurations import UNCLEAN_LEADER_ELECTION
from replication.records.metadata.partition import LeaderRecoveryState
from replication.wire.error_code import ErrorCode
from replication.wire.messages.elect_leaders import ElectionType
from tests.replication.cluster.controller.classic.cluster import CONTROLLER, ClassicCluster, P, Q, leader_and_isr, named


class TestStates:
    def test_who_cannot_change_stays_and_the_others_proceed(self, cluster: ClassicCluster) -> None:
        nowhere = TopicPartition("nowhere", 0)
        outcomes = cluster.term.partitions.change([nowhere, P], PartitionState.ONLINE)
        assert isinstance(outcomes[nowhere], StateChangeError)
        assert outcomes[P] == cluster.state(P)
        assert cluster.context.partition_state(nowhere) is PartitionState.NON_EXISTENT
        assert [each.error is None for each in cluster.changes] == [False, True]

    def test_a_replica_that_cannot_change_stays_and_the_others_proceed(self, cluster: ClassicCluster) -> None:
        online, offline = Replica(P, 2), Replica(P, 3)
        cluster.term.replicas.change([offline], ReplicaState.OFFLINE)
        cluster.term.replicas.change([online, offline], ReplicaState.DELETION_STARTED)
        assert cluster.context.replica_state(online) is ReplicaState.ONLINE
        assert cluster.context.replica_state(offline) is ReplicaState.DELETION_STARTED

    def test_a_new_replica_never_leads(self, cluster: ClassicCluster) -> None:
        del cluster.context.replica_states[Replica(P, 1)]
        cluster.term.replicas.change([Replica(P, 1)], ReplicaState.NEW)
        assert cluster.context.replica_state(Replica(P, 1)) is ReplicaState.NON_EXISTENT
        assert "can only follow" in str(cluster.changes[-1].error)

    def test_a_state_that_nobody_can_read_keeps_no_other_partition_from_a_leader(self, cluster: ClassicCluster) -> None:
        cluster.admin.set(nodes.state_path(P), b"{}")
        outcomes = cluster.term.partitions.change([P, Q], PartitionState.ONLINE)
        assert isinstance(outcomes[P], StateChangeError)
        assert nodes.state_path(P) in str(outcomes[P])
        assert outcomes[Q] == cluster.state(Q)

    def test_what_a_leader_changes_meanwhile_is_not_overwritten(self, cluster: ClassicCluster) -> None:
        """The controller has not been told that 2 fell behind, and still does not let it lead."""
        stored = cluster.state(P)
        cluster.admin.set(nodes.state_path(P), nodes.encode_state(stored._replace(isr=(1, 3))))
        cluster.kill(1)
        assert leader_and_isr(cluster) == (3, (3,))

    @pytest.mark.parametrize("change", ["election", "offline replica"])
    def test_who_writes_in_between_is_read_again(self, cluster: ClassicCluster, change: str) -> None:
        """The leader takes 3 out of the ISR between the controller's reading and its writing."""
        write, meanwhile = ClusterStore.set_state, [(1, 2)]

        def written(store: ClusterStore, partition: TopicPartition, state: LeaderAndIsr) -> LeaderAndIsr:
            if meanwhile:
                stored = cluster.state(partition)._replace(isr=meanwhile.pop())
                cluster.admin.set(nodes.state_path(partition), nodes.encode_state(stored))
            return write(store, partition, state)

        with patch.object(ClusterStore, "set_state", written):
            if change == "election":
                cluster.term.partitions.change([P], PartitionState.ONLINE)
            else:
                cluster.term.replicas.change([Replica(P, 2)], ReplicaState.OFFLINE)
        assert leader_and_isr(cluster) == (1, (1, 2) if change == "election" else (1,))
        assert cluster.state(P).leader_epoch == 1
        assert cluster.context.states[P] == cluster.state(P)


class TestCommands:
    def test_a_new_partition_is_told_to_its_replicas_and_to_clients(self) -> None:
        cluster = ClassicCluster()
        cluster.begin()
        del cluster.sent[:]
        cluster.topic("t", [1, 2])
        told = dict(cluster.told_to_lead_or_follow(P))
        assert told == {1: cluster.state(P), 2: cluster.state(P)}
        new = [each.partitions[P].is_new for _, each in cluster.sent if isinstance(each, LeaderAndIsrRequest)]
        assert new == [True, True]
        assert {broker for broker, each in cluster.told_metadata() if P in each.partitions} == {1, 2, 3}

    def test_commands_carry_the_controller_epoch_and_the_broker_epoch(self, cluster: ClassicCluster) -> None:
        cluster.kill(1)
        assert cluster.sent
        for broker_id, command in cluster.sent:
            assert command.controller_id == CONTROLLER
            assert command.controller_epoch == cluster.controller.epoch
            assert command.broker_epoch == cluster.context.broker_epochs[broker_id]

    def test_a_dead_broker_is_told_nothing_and_a_new_start_begins_anew(self, cluster: ClassicCluster) -> None:
        cluster.deaf.add(3)
        cluster.kill(2)
        assert len(cluster.controller.queues[3]) > 0
        cluster.kill(3)
        assert 3 not in cluster.controller.queues
        cluster.deaf.clear()
        del cluster.sent[:]
        cluster.start(3)
        first = next(command for broker, command in cluster.sent if broker == 3)
        assert isinstance(first, UpdateMetadataRequest)
        assert first.partitions.keys() == {P, Q}

    def test_all_are_told_of_a_dead_broker_even_if_it_led_nothing(self, cluster: ClassicCluster) -> None:
        cluster.start(4)
        del cluster.sent[:]
        cluster.kill(4)
        assert {broker: command.live_brokers for broker, command in cluster.told_metadata()} == {
            1: (1, 2, 3),
            2: (1, 2, 3),
            3: (1, 2, 3),
        }

    def test_a_broker_that_restarts_unseen_is_dead_and_then_new(self, cluster: ClassicCluster) -> None:
        before = cluster.context.broker_epochs[1]
        cluster.sessions.pop(1).close()
        cluster.register(1)
        cluster.settle()
        assert cluster.context.broker_epochs[1] > before
        assert leader_and_isr(cluster) == (2, (2, 3))
        assert cluster.context.replica_state(Replica(P, 1)) is ReplicaState.ONLINE


class TestControlledShutdown:
    def test_it_is_refused_to_whom_nobody_knows_and_to_an_earlier_start(self, cluster: ClassicCluster) -> None:
        with pytest.raises(Refusal, match="BROKER_NOT_AVAILABLE"):
            cluster.controller.controlled_shutdown(9, 0)
        with pytest.raises(Refusal, match="STALE_BROKER_EPOCH"):
            cluster.controller.controlled_shutdown(1, cluster.context.broker_epochs[1] - 1)
        assert not cluster.context.shutting_down

    def test_replicas_that_follow_are_stopped_and_leave_the_isr(self, cluster: ClassicCluster) -> None:
        assert cluster.controller.controlled_shutdown(1, cluster.context.broker_epochs[1]) == []
        cluster.settle()
        assert leader_and_isr(cluster) == (2, (2, 3))
        assert leader_and_isr(cluster, Q) == (2, (2, 3))
        assert cluster.told_to_stop(Q) == [(1, False)]
        assert cluster.told_to_stop(P) == []

    def test_it_keeps_what_nobody_else_can_lead(self, cluster: ClassicCluster) -> None:
        cluster.set_isr(P, 1)
        assert cluster.controller.controlled_shutdown(1, cluster.context.broker_epochs[1]) == [P]

    def test_who_shuts_down_is_elected_no_more_until_it_starts_again(self, cluster: ClassicCluster) -> None:
        cluster.controller.controlled_shutdown(1, cluster.context.broker_epochs[1])
        (answer,) = cluster.controller.elect_leaders(ElectionType.PREFERRED, [P])
        assert answer.error is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        cluster.kill(1)
        cluster.start(1)
        cluster.set_isr(P, 2, 3, 1)
        (answer,) = cluster.controller.elect_leaders(ElectionType.PREFERRED, [P])
        assert answer.error is ErrorCode.NONE
        assert cluster.state(P).leader == 1


class TestElections:
    def test_of_all_partitions_those_that_need_none_are_not_told(self, cluster: ClassicCluster) -> None:
        cluster.kill(1)
        cluster.start(1)
        cluster.set_isr(P, 1, 2, 3)
        assert cluster.controller.elect_leaders(ElectionType.PREFERRED, None) == [ElectionAnswer(P, ErrorCode.NONE)]

    @pytest.mark.parametrize(
        ("trigger", "elected"), [(Trigger.ADMIN_CLIENT, True), (Trigger.STORE, False), (Trigger.AUTOMATIC, False)]
    )
    def test_only_an_admin_client_may_lose_records(
        self, cluster: ClassicCluster, trigger: Trigger, elected: bool
    ) -> None:
        cluster.set_isr(P, 1)
        cluster.kill(1)
        (answer,) = cluster.term.elections.elect(ElectionType.UNCLEAN, [P], trigger)
        assert (answer.error is ErrorCode.NONE) == elected
        assert leader_and_isr(cluster) == ((2, (2,)) if elected else (-1, (1,)))
        recovers = cluster.state(P).recovery_state is LeaderRecoveryState.RECOVERING
        assert recovers == elected

    def test_a_partition_without_replicas_has_no_leader_to_prefer(self, cluster: ClassicCluster) -> None:
        cluster.topic("none", [])
        (answer,) = cluster.controller.elect_leaders(ElectionType.PREFERRED, [named("none-0")])
        assert answer.error is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE

    def test_the_store_asks_for_preferred_elections(self, cluster: ClassicCluster) -> None:
        cluster.kill(1)
        cluster.start(1)
        cluster.set_isr(P, 1, 2, 3)
        cluster.admin.create(nodes.PREFERRED_ELECTION, nodes.encode_partitions([P, named("nowhere-0")]))
        cluster.settle()
        assert cluster.state(P).leader == 1
        assert not cluster.admin.exists(nodes.PREFERRED_ELECTION)

    def test_the_topics_own_setting_decides_on_unclean_elections(self) -> None:
        cluster = ClassicCluster(settings=ClassicSettings(defaults={UNCLEAN_LEADER_ELECTION: "True"}))
        config = nodes.encode_config({UNCLEAN_LEADER_ELECTION: "false"})
        cluster.admin.create(f"{nodes.TOPIC_CONFIGS}/t", config)
        cluster.begin()
        for topic in ("t", "u"):
            cluster.topic(topic, [1, 2])
            cluster.set_isr(TopicPartition(topic, 0), 1)
        cluster.kill(1)
        assert leader_and_isr(cluster, named("t-0")) == (-1, (1,))
        assert leader_and_isr(cluster, named("u-0")) == (2, (2,))

    def test_leaders_are_balanced_five_seconds_after_the_election_and_then_now_and_then(
        self, cluster: ClassicCluster
    ) -> None:
        cluster.kill(1)
        cluster.start(1)
        cluster.set_isr(P, 1, 2, 3)
        cluster.controller.process(4999)
        assert cluster.state(P).leader == 2
        cluster.controller.process(5000)
        assert cluster.state(P).leader == 1
        assert cluster.controller.wake_at == 305_000

    def test_a_dead_broker_is_not_preferred_though_it_is_in_sync(self) -> None:
        assignments, states = {P: ReplicaAssignment((1, 2))}, {P: LeaderAndIsr(2, (1, 2))}
        assert imbalanced(assignments, states, frozenset({1, 2}), 10) == [P]
        assert imbalanced(assignments, states, frozenset({2}), 10) == []

    def test_leaders_are_not_balanced_while_partitions_move(self, cluster: ClassicCluster) -> None:
        cluster.kill(1)
        cluster.start(1)
        cluster.start(4)
        cluster.set_isr(P, 1, 2, 3)
        cluster.controller.reassign(Q, (4,))
        cluster.controller.process(5000)
        assert cluster.state(P).leader == 2


class TestTopics:
    def test_partitions_are_added(self, cluster: ClassicCluster) -> None:
        cluster.write_topic("t", {0: [1, 2, 3], 1: [2, 3, 1], 2: [3]})
        cluster.settle()
        assert leader_and_isr(cluster, named("t-2")) == (3, (3,))
        assert cluster.state(P).leader_epoch == 0

    def test_none_is_added_to_a_topic_that_is_being_deleted(self, cluster: ClassicCluster) -> None:
        cluster.deaf.update([1, 2, 3])
        cluster.ask_deletion("t")
        cluster.write_topic("t", {0: [1, 2, 3], 1: [2, 3, 1], 2: [3]})
        cluster.settle()
        listed = nodes.decode_assignments("", cluster.admin.get(nodes.topic_path("t")).data)
        assert sorted(listed) == [0, 1]
        cluster.deaf.clear()
        cluster.settle()
        assert not cluster.admin.exists(nodes.topic_path("t"))

    def test_a_deletion_that_a_broker_fails_at_is_retried_when_a_broker_starts(self, cluster: ClassicCluster) -> None:
        cluster.failing.add(2)
        cluster.ask_deletion("t")
        assert "t" in cluster.context.parked
        assert cluster.admin.exists(nodes.topic_path("t"))
        cluster.failing.clear()
        cluster.kill(1)
        cluster.start(1)
        assert not cluster.admin.exists(nodes.topic_path("t"))
        assert not cluster.context.parked

    def test_another_controller_finishes_a_deletion(self, cluster: ClassicCluster) -> None:
        cluster.deaf.update([1, 2, 3])
        cluster.ask_deletion("t")
        cluster.controller_session.close()
        cluster.deaf.clear()
        cluster.elect_controller()
        cluster.begin()
        assert not cluster.admin.exists(nodes.topic_path("t"))
        assert not cluster.admin.exists(f"{nodes.DELETE_TOPICS}/t")

    def test_a_topic_of_a_name_can_come_again(self, cluster: ClassicCluster) -> None:
        cluster.ask_deletion("t")
        cluster.topic("t", [3])
        assert cluster.state(P) == LeaderAndIsr(3, (3,), 0, cluster.controller.epoch)

    def test_a_topic_waits_for_its_partitions_that_move_and_they_are_led(self, cluster: ClassicCluster) -> None:
        """Were nobody elected for what is to be deleted, neither the move nor the deletion would ever end."""
        cluster.start(4)
        cluster.ask_reassignment({P: (4, 2)})
        cluster.ask_deletion("t")
        cluster.kill(1)
        assert cluster.state(P).leader == 2
        cluster.set_isr(P, 2, 4)
        cluster.start(1)
        assert not cluster.admin.exists(nodes.topic_path("t"))


class TestTheSlot:
    def test_one_is_the_controller_and_the_others_wait(self, cluster: ClassicCluster) -> None:
        rivals = [ClassicController(each, cluster.tree.session()) for each in (1, 2)]
        for rival in rivals:
            rival.start(0)
        assert [each.state for each in [cluster.controller, *rivals]] == [
            RunState.CONTROLLER,
            RunState.BROKER,
            RunState.BROKER,
        ]
        cluster.controller_session.close()
        for rival in rivals:
            rival.process(0)
        cluster.controller.process(0)
        assert [each.state for each in [cluster.controller, *rivals]] == [
            RunState.BROKER,
            RunState.CONTROLLER,
            RunState.BROKER,
        ]
        assert rivals[0].epoch == 2

    def test_who_is_not_the_controller_answers_so(self, cluster: ClassicCluster) -> None:
        rival = ClassicController(1, cluster.tree.session())
        rival.start(0)
        for ask in (
            lambda: rival.elect_leaders(ElectionType.PREFERRED, [P]),
            lambda: rival.controlled_shutdown(1, 0),
            lambda: rival.reassign(P, (1,)),
        ):
            with pytest.raises(Refusal, match="NOT_CONTROLLER"):
                ask()
        assert not rival.queues

    def test_answers_of_a_broker_that_is_gone_or_came_anew_are_passed_over(self, cluster: ClassicCluster) -> None:
        cluster.deaf.add(3)
        cluster.topic("new", [1, 3])
        assert cluster.controller.queues[3].take(cluster.now)
        cluster.kill(3)
        cluster.controller.answered(3)
        cluster.start(3)
        anew = cluster.controller.queues[3]
        waiting = len(anew)
        cluster.controller.answered(3)
        assert len(anew) == waiting > 0

    def test_one_that_was_replaced_without_knowing_writes_nothing(self, cluster: ClassicCluster) -> None:
        """It stood still: its session is over for the store, and another controller came, before it noticed."""
        before = cluster.state(P)
        cluster.admin.set(nodes.CONTROLLER_EPOCH, b"2")
        cluster.admin.delete(nodes.CONTROLLER)
        cluster.admin.create(nodes.CONTROLLER, nodes.encode_controller(1))
        with pytest.raises(Refusal, match="NOT_CONTROLLER"):
            cluster.controller.controlled_shutdown(1, cluster.context.broker_epochs[1])
        assert cluster.state(P) == before
        assert cluster.controller.state is RunState.BROKER
        assert cluster.admin.exists(nodes.CONTROLLER), "the slot is the other's"

    def test_one_that_cannot_read_the_cluster_leaves_the_slot(self) -> None:
        cluster = ClassicCluster()
        cluster.admin.create(nodes.topic_path("t"), b"{}")
        with pytest.raises(TakeOverError, match=nodes.topic_path("t")):
            cluster.begin()
        assert cluster.controller.state is RunState.BROKER
        assert not cluster.admin.exists(nodes.CONTROLLER)
