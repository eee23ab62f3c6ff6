"""What must hold in a ZooKeeper-era cluster whatever happens to it."""

from typing import TYPE_CHECKING

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.context import Context
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.store import nodes
from replication.cluster.controller.classic.store.coordination_store import Operation, SetData
from replication.records.metadata.configurations import UNCLEAN_LEADER_ELECTION
from replication.records.metadata.partition import LeaderRecoveryState

if TYPE_CHECKING:
    from tests.replication.cluster.controller.classic.simulation import ClassicSimulation


class ClassicInvariants:
    """Looks at each partition in the store, beside what it was before; and at what the controller remembers."""

    def __init__(self, simulation: "ClassicSimulation") -> None:
        self.unclean_asked = False
        self._simulation = simulation
        self._admin = simulation.admin
        self._before: dict[TopicPartition, LeaderAndIsr] = {}
        self._leaders: dict[tuple[TopicPartition, int], int] = {}

    def look_at_write(self, operation: Operation) -> None:
        """A completed reassignment leaves exactly the target, and a cancelled one what there was before."""
        if not isinstance(operation, SetData) or operation.path.rpartition("/")[0] != nodes.TOPICS:
            return
        before = nodes.decode_assignments(operation.path, self._admin.get(operation.path).data)
        for number, after in nodes.decode_assignments(operation.path, operation.data).items():
            was = before[number]
            if was.is_being_reassigned and not after.is_being_reassigned:
                assert after.replicas == was.target or set(after.replicas) == set(was.origin)

    def listed(self) -> dict[TopicPartition, ReplicaAssignment]:
        found = {}
        for topic in self._admin.children(nodes.TOPICS):
            path = nodes.topic_path(topic)
            assignments = nodes.decode_assignments(path, self._admin.get(path).data)
            found |= {TopicPartition(topic, number): each for number, each in assignments.items()}
        return found

    def look(self) -> None:
        """Compare the store with how it was when last looked at."""
        now = {}
        for partition in self.listed():
            path = nodes.state_path(partition)
            if not self._admin.exists(path):
                continue
            node = self._admin.get(path)
            now[partition] = nodes.decode_state(path, node.data, node.version)
            self._check_change(partition, self._before.get(partition), now[partition])
        self._before = now

    def check(self) -> None:
        """Once all is quiet: what is in the store is sound, and what the controller remembers is that."""
        self.look()
        controller = self._simulation.controller
        running = self._simulation.running()
        assert sum(bool(each.controller and each.controller.term) for each in running) == bool(running), (
            "one is the controller"
        )
        if controller is None or controller.term is None:
            return
        context = controller.term.context
        assert set(context.broker_epochs) == {each.broker_id for each in running}
        listed = self.listed()
        assert context.assignments.keys() == listed.keys()
        for partition, assignment in listed.items():
            if partition.topic in context.deleting:
                continue
            assert context.assignments[partition] == assignment
            self._check_partition(context, partition, assignment)

    def check_recovered(self) -> None:
        """Once all brokers run and follow: everybody was told who leads, and nothing is left to do.

        Who was to stop a replica may not know, where the controller died before it said so.
        """
        controller = self._simulation.controller
        assert controller is not None
        assert controller.term is not None
        context = controller.term.context
        assert not context.reassigning
        assert not self._admin.exists(nodes.REASSIGN_PARTITIONS)
        assert not self._admin.exists(nodes.PREFERRED_ELECTION)
        for partition, assignment in self.listed().items():
            if partition.topic in context.deleting:
                continue
            state = self._before[partition]
            assert set(state.isr) == set(assignment.replicas)
            for broker in self._simulation.brokers:
                if broker.broker_id in assignment.replicas:
                    told = broker.held[partition].state
                    assert (told.leader, told.leader_epoch) == (state.leader, state.leader_epoch)

    def _check_partition(self, context: Context, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        state = self._before.get(partition)
        if state is None:
            assert not context.live & set(assignment.replicas), "somebody could be the first leader"
            return
        remembered = context.states[partition]
        assert (remembered.leader, remembered.leader_epoch) == (state.leader, state.leader_epoch)
        leads = state.leader in context.broker_epochs
        assert leads or not context.live & set(state.isr) & set(assignment.replicas), "somebody in sync could lead"
        assert leads or state.leader == -1
        is_moving = partition in context.reassigning
        assert is_moving or not assignment.is_being_reassigned
        assert set(state.isr) <= set(assignment.replicas), "who is in sync is assigned"

    def _check_change(self, partition: TopicPartition, before: LeaderAndIsr | None, after: LeaderAndIsr) -> None:
        assert len(set(after.isr)) == len(after.isr) > 0
        if after.leader != -1:
            assert after.leader in after.isr, "who leads is in sync"
            leader = self._leaders.setdefault((partition, after.leader_epoch), after.leader)
            assert leader == after.leader, "two leaders in one epoch"
        if before is None:
            return
        assert after.leader_epoch >= before.leader_epoch
        assert after.controller_epoch >= before.controller_epoch
        assert after.leader == before.leader or after.leader_epoch > before.leader_epoch
        if (before.recovery_state, after.recovery_state) == (
            LeaderRecoveryState.RECOVERED,
            LeaderRecoveryState.RECOVERING,
        ):
            assert self.unclean_asked or self._is_unclean_allowed(partition.topic)

    def _is_unclean_allowed(self, topic: str) -> bool:
        path = f"{nodes.TOPIC_CONFIGS}/{topic}"
        config = nodes.decode_config(path, self._admin.get(path).data) if self._admin.exists(path) else {}
        default = self._simulation.settings.defaults[UNCLEAN_LEADER_ELECTION]
        return config.get(UNCLEAN_LEADER_ELECTION, default) == "true"
