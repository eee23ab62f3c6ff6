"""What a controller decides from its election until it resigns (Kafka: KafkaController, while it is active)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.asked.isr_changes import IsrChanges
from replication.cluster.controller.classic.asked.new_topics import NewTopics
from replication.cluster.controller.classic.commands.broker_queue import BrokerQueue
from replication.cluster.controller.classic.commands.outbox import Outbox
from replication.cluster.controller.classic.context import Context, StateChange
from replication.cluster.controller.classic.elections import Elections, Trigger
from replication.cluster.controller.classic.errors import MalformedNodeError
from replication.cluster.controller.classic.imbalance import imbalanced
from replication.cluster.controller.classic.machines.partition_machine import PartitionMachine
from replication.cluster.controller.classic.machines.reassignment import Reassignment
from replication.cluster.controller.classic.machines.replica_machine import ReplicaMachine
from replication.cluster.controller.classic.machines.topic_deletion import TopicDeletion
from replication.cluster.controller.classic.partition_states import PartitionState
from replication.cluster.controller.classic.registered_broker import RegisteredBroker
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.replica_states import Replica, ReplicaState
from replication.cluster.controller.classic.selectors import Selector
from replication.cluster.controller.classic.settings import ClassicSettings
from replication.cluster.controller.classic.store.cluster_store import ClusterStore
from replication.cluster.controller.classic.store.watches import Watches
from replication.cluster.controller.elections import ElectionAnswer
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.topics.topics import MorePartitions, NewTopic, TopicAnswer
from replication.wire.error_code import ErrorCode
from replication.wire.messages.elect_leaders import ElectionType

PRODUCER_IDS: Final = 1_000
"""How many a broker gets at a time."""


class BrokerChanges(NamedTuple):
    """The ids, ascending."""

    new: list[int]
    dead: list[int]
    bounced: list[int]
    """Registered anew since: to be treated as dead and then as new."""


def changes_between(known: Mapping[int, int], listed: Mapping[int, int]) -> BrokerChanges:
    """Compare the broker epochs that are known, by id, with those that the store lists."""
    return BrokerChanges(
        new=sorted(listed.keys() - known.keys()),
        dead=sorted(known.keys() - listed.keys()),
        bounced=sorted(each for each in listed.keys() & known.keys() if listed[each] > known[each]),
    )


class Term:
    """One controller epoch: the machines, and what each event makes them do."""

    def __init__(
        self,
        broker_id: int,
        store: ClusterStore,
        settings: ClassicSettings,
        watches: Watches,
        tell: Callable[[StateChange], None],
        own: RegisteredBroker | None = None,
    ) -> None:
        self.context = Context()
        self.outbox = Outbox(broker_id, self.context, own)
        self._store = store
        self._settings = settings
        self._watches = watches
        self.partitions = PartitionMachine(self.context, store, self.outbox, settings.defaults, tell)
        self.replicas = ReplicaMachine(self.context, store, self.outbox, tell)
        machines = (self.context, store, self.outbox, self.partitions, self.replicas)
        self.deletion = TopicDeletion(*machines)
        self.reassignment = Reassignment(*machines)
        self.elections = Elections(self.context, self.partitions)
        self.isr_changes = IsrChanges(self.context, store, self.outbox)
        self._new_topics = NewTopics(self.context, store, settings)

    def begin(self) -> None:
        """Initialize the cluster's state from the store (Kafka: onControllerFailover)."""
        self._watch_everything()
        for name in self._store.isr_changes():
            self._store.remove_isr_change(name)
        self._load()
        self._load_deletions()
        self._update_metadata([])
        self.replicas.start_up()
        self.partitions.start_up()
        self.resume_reassignments(lambda _: True)
        self.start_wanted_reassignments()
        self.deletion.go_on()
        self.elect_as_stored()

    def _watch_everything(self) -> None:
        self._store.brokers(self._watches.brokers)
        self._store.topics(self._watches.topics)
        self._store.deletions(self._watches.deletions)
        self._store.isr_changes(self._watches.isr_changes)

    def _load(self) -> None:
        self.context.registered.update(self._store.brokers())
        self.outbox.queues.update({each: BrokerQueue() for each in self.context.registered})
        for topic in self._store.topics():
            self._load_topic(topic)
        for partition, assignment in self.context.assignments.items():
            state = self._store.state(partition)
            if state is not None:
                self.context.states[partition] = state
            if assignment.is_being_reassigned:
                self.context.reassigning.add(partition)

    def _load_topic(self, topic: str) -> list[TopicPartition]:
        """Load a topic and return those of its partitions that were unknown."""
        self.context.topics.add(topic)
        stored = self._store.topic(topic, self._watches.partitions(topic))
        topic_id = stored.topic_id
        if topic_id is None and self._settings.topic_ids and stored.assignments:
            topic_id = self._new_topics.new_id()
            self._store.name_topic(topic, topic_id)
        self.context.name_topic(topic, topic_id)
        assignments = {TopicPartition(topic, number): each for number, each in stored.assignments.items()}
        unknown = {each: assignments[each] for each in assignments.keys() - self.context.assignments.keys()}
        self.context.assignments.update(sorted(unknown.items()))
        return sorted(unknown)

    def _load_deletions(self) -> None:
        asked = self._store.deletions()
        wanted = self._drop_deletions(asked)
        self.context.deleting.update(wanted)
        dead = {
            each.partition.topic
            for each in self.context.replicas_of(self.context.assignments)
            if each.broker_id not in self.context.live
        }
        self.deletion.park(dead | {each.topic for each in self.context.reassigning})

    # Brokers

    def brokers_changed(self) -> None:
        """Compare the brokers with those that were known."""
        listed = self._store.brokers(self._watches.brokers)
        epochs = {broker_id: broker.epoch for broker_id, broker in listed.items()}
        changes = changes_between(self.context.broker_epochs, epochs)
        self._add_brokers(changes.new, listed)
        self._remove_brokers(changes.bounced)
        self._add_brokers(changes.bounced, listed)
        self._remove_brokers(changes.dead)

    def _add_brokers(self, broker_ids: list[int], listed: Mapping[int, RegisteredBroker]) -> None:
        if not broker_ids:
            return
        for broker_id in broker_ids:
            self.context.registered[broker_id] = listed[broker_id]
            self.outbox.queues[broker_id] = BrokerQueue()
        self.brokers_started(broker_ids)

    def _remove_brokers(self, broker_ids: list[int]) -> None:
        if not broker_ids:
            return
        for broker_id in broker_ids:
            del self.context.registered[broker_id]
            self.outbox.queues.pop(broker_id, None)
        self.brokers_failed(broker_ids)

    def brokers_started(self, broker_ids: list[int]) -> None:
        """Give brokers that started what is theirs (Kafka: onBrokerStartup)."""
        others = [each for each in self.context.registered if each not in broker_ids]
        self._update_metadata([], others)
        self._update_metadata(self.context.states, broker_ids)
        replicas = self.context.replicas_on(broker_ids)
        self.replicas.change(replicas, ReplicaState.ONLINE)
        self.partitions.bring_online()
        self.resume_reassignments(lambda assignment: not set(broker_ids).isdisjoint(assignment.target))
        self.deletion.resume({each.partition.topic for each in replicas})

    def brokers_failed(self, broker_ids: list[int]) -> None:
        """Elect other leaders for what dead brokers led (Kafka: onBrokerFailure)."""
        self.context.shutting_down.difference_update(broker_ids)
        leaderless = [
            partition
            for partition, state in self.context.states.items()
            if state.leader not in self.context.live and not self.context.is_deleting(partition)
        ]
        self.partitions.change(leaderless, PartitionState.OFFLINE)
        self.partitions.bring_online()
        replicas = self.context.replicas_on(broker_ids)
        self.replicas.change(
            [each for each in replicas if not self.context.is_deleting(each.partition)], ReplicaState.OFFLINE
        )
        self.deletion.failed([each for each in replicas if self.context.is_deleting(each.partition)])
        if not leaderless:
            self._update_metadata([])

    def shut_down(self, broker_id: int, broker_epoch: int) -> list[TopicPartition]:
        """Elect other leaders for what a broker leads that is about to stop; return what it still leads."""
        known = self.context.registered.get(broker_id)
        if known is None:
            raise Refusal(ErrorCode.BROKER_NOT_AVAILABLE, f"Broker id {broker_id} does not exist.")
        if broker_epoch < known.epoch:
            raise Refusal(
                ErrorCode.STALE_BROKER_EPOCH, f"Broker {broker_id} has epoch {known.epoch} now, not {broker_epoch}."
            )
        self.context.shutting_down.add(broker_id)
        held = [
            each.partition
            for each in self.context.replicas_on([broker_id])
            if each.partition in self.context.states
            and len(self.context.assignments[each.partition].replicas) > 1
            and not self.context.is_deleting(each.partition)
        ]
        led = [each for each in held if self.context.states[each].leader == broker_id]
        followed = [Replica(each, broker_id) for each in held if each not in led]
        self.partitions.change(led, PartitionState.ONLINE, Selector.CONTROLLED_SHUTDOWN)
        self.replicas.change(followed, ReplicaState.OFFLINE)
        return [partition for partition, state in self.context.states.items() if state.leader == broker_id]

    # Topics

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool) -> list[TopicAnswer]:
        """Create topics, and elect who leads them."""
        answers = self._new_topics.create(topics, validate_only=validate_only)
        self._look_for_topics(set(self._store.topics()))
        return answers

    def add_partitions(self, more: MorePartitions, *, validate_only: bool) -> TopicAnswer:
        """Add partitions to a topic, and elect who leads them."""
        answer = self._new_topics.enlarge(more, validate_only=validate_only)
        if answer.error is ErrorCode.NONE:
            self._create(self._load_topic(more.name))
        return answer

    def delete_topics(self, topics: Iterable[str]) -> list[TopicAnswer]:
        """Put topics on the list of those that are to be deleted, and delete those that can be."""
        if not self._settings.delete_topic_enable:
            return [TopicAnswer(topic, ErrorCode.TOPIC_DELETION_DISABLED) for topic in topics]
        answers = []
        for topic in topics:
            if topic in self.context.topics:
                self._store.ask_deletion(topic)
                answers.append(TopicAnswer(topic, topic_id=self.context.topic_ids.get(topic)))
            else:
                answers.append(TopicAnswer(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        self._delete(self._store.deletions())
        return answers

    def topics_changed(self) -> None:
        """Create what is new, forget what is gone."""
        self._look_for_topics(set(self._store.topics(self._watches.topics)))

    def _look_for_topics(self, listed: set[str]) -> None:
        for topic in self.context.topics - listed:
            self.context.forget_topic(topic)
        created = [partition for topic in sorted(listed - self.context.topics) for partition in self._load_topic(topic)]
        self._create(created)

    def partitions_changed(self, topic: str) -> None:
        """Create the partitions that were added to a topic, unless it is being deleted."""
        if topic not in self.context.topics:
            return
        if topic not in self.context.deleting:
            self._create(self._load_topic(topic))
            return
        for number in self._store.topic(topic, self._watches.partitions(topic)).assignments:
            partition = TopicPartition(topic, number)
            if partition not in self.context.assignments:
                self._store.set_assignment(partition, None)

    def _create(self, partitions: list[TopicPartition]) -> None:
        replicas = self.context.replicas_of(partitions)
        self.partitions.change(partitions, PartitionState.NEW)
        self.replicas.change(replicas, ReplicaState.NEW)
        self.partitions.change(partitions, PartitionState.ONLINE)
        self.replicas.change(replicas, ReplicaState.ONLINE)

    def deletion_asked(self) -> None:
        """Delete the topics that are on the list, now or later."""
        self._delete(self._store.deletions(self._watches.deletions))

    def _delete(self, asked: Iterable[str]) -> None:
        self.context.deleting.update(self._drop_deletions(asked))
        self.deletion.park({each.topic for each in self.context.reassigning})
        self.deletion.go_on()

    def _drop_deletions(self, asked: Iterable[str]) -> set[str]:
        """Drop the requests that are never granted; return the others."""
        wanted = self.context.topics.intersection(asked) if self._settings.delete_topic_enable else set()
        for topic in sorted(set(asked) - wanted):
            self._store.remove_deletion(topic)
        return wanted

    def replicas_deleted(self, broker_id: int, errors: Mapping[TopicPartition, ErrorCode]) -> None:
        """Note which replicas a broker deleted, and which it could not."""
        failed = [Replica(each, broker_id) for each, error in errors.items() if error is not ErrorCode.NONE]
        done = [Replica(each, broker_id) for each, error in errors.items() if error is ErrorCode.NONE]
        if failed:
            self.deletion.failed(failed)
        self.deletion.succeeded(done)

    # Reassignments

    def start_wanted_reassignments(self) -> None:
        """Move the partitions that the store wants moved; drop what is not possible."""
        try:
            wanted = self._store.reassignments(self._watches.reassignments)
        except MalformedNodeError as error:
            self._store.remove_malformed(error.path)
            raise
        for partition, target in wanted.items():
            if partition in self.context.reassigning and self.context.assignments[partition].target == target:
                continue
            try:
                self.reassign(partition, target, stored=True)
            except Refusal:
                self._store.remove_reassignment(partition)

    def reassign(self, partition: TopicPartition, target: tuple[int, ...] | None, *, stored: bool = False) -> None:
        """Move a partition, or cancel that it moves (None); `stored`: the store asks for this. Raises Refusal."""
        current = self.context.assignments.get(partition)
        if current is None or (target is not None and partition.topic in self.context.deleting):
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        if target is None and partition not in self.context.reassigning:
            raise Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        assignment = current.cancelled() if target is None else current.reassign_to(target)
        self._check_reassignment(partition, assignment, target)
        with suppress(MalformedNodeError):
            if not stored:  # What the store asked for before is not to be begun again by the next controller.
                self._store.remove_reassignment(partition)
        self._store.state(partition, self._watches.reassigned_isr(partition))
        self._drain(partition, assignment)

    def _drain(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        for _ in self.reassignment.start(partition, assignment):
            pass
        self._after_reassignment(partition)

    def _check_reassignment(
        self, partition: TopicPartition, assignment: ReplicaAssignment, target: tuple[int, ...] | None
    ) -> None:
        invalid = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        if target is not None and (not target or len(set(target)) < len(target)):
            raise Refusal(invalid, f"Replicas must be non-empty and distinct, not {list(target)}.")
        unknown = [each for each in assignment.adding if each not in self.context.registered]
        if target is not None and unknown:
            raise Refusal(invalid, f"Replica assignment has brokers that are not alive: {unknown}.")
        self.reassignment.refresh(partition)
        if not self.reassignment.can_start(partition, assignment):
            raise Refusal(invalid, f"None of the replicas {list(assignment.replicas)} is alive and in sync.")

    def resume_reassignments(self, concerns: Callable[[ReplicaAssignment], bool]) -> None:
        """Go on with moves that may have waited for what happened."""
        for partition in sorted(self.context.reassigning):
            if concerns(self.context.assignments[partition]):
                self._store.state(partition, self._watches.reassigned_isr(partition))
                self._go_on(partition)

    def reassigned_isr_changed(self, partition: TopicPartition) -> None:
        """Finish a move once all that it waits for are in sync."""
        if partition not in self.context.reassigning:
            return
        self._store.state(partition, self._watches.reassigned_isr(partition))
        self.reassignment.refresh(partition)
        if self.reassignment.is_in_sync(partition):
            self._go_on(partition)

    def _go_on(self, partition: TopicPartition) -> None:
        for _ in self.reassignment.go_on(partition):
            pass
        self._after_reassignment(partition)

    def _after_reassignment(self, partition: TopicPartition) -> None:
        if partition not in self.context.reassigning:
            self.deletion.resume([partition.topic])

    # Leaders

    def isr_change_noticed(self) -> None:
        """Remember and report what leaders changed, and drop the notices even where that fails."""
        names = self._store.isr_changes(self._watches.isr_changes)
        if not names:
            return
        try:
            changed = sorted({each for name in names for each in self._store.isr_change(name)})
            known = [each for each in changed if each in self.context.assignments]
            for partition in known:
                self.reassignment.refresh(partition)
            self._update_metadata(known)
            for partition in known:
                self.reassigned_isr_changed(partition)
        finally:
            for name in names:
                self._store.remove_isr_change(name)

    def elect_as_stored(self) -> None:
        """Hold the preferred elections that the store asks for, and drop the request."""
        try:
            partitions = self._store.preferred_election(self._watches.preferred_election)
            if partitions is not None:
                self.elections.elect(ElectionType.PREFERRED, partitions, Trigger.STORE)
        finally:
            self._store.remove_preferred_election()

    def elect_leaders(
        self, election_type: ElectionType, partitions: Iterable[TopicPartition] | None
    ) -> list[ElectionAnswer]:
        """Answer an admin client that asks for elections, of all partitions with None."""
        return self.elections.elect(election_type, partitions, Trigger.ADMIN_CLIENT)

    def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> int:
        """Give a broker PRODUCER_IDS ids for its producers; return the first. Raises Refusal."""
        known = self.context.registered.get(broker_id)
        if known is None or known.epoch != broker_epoch:
            raise Refusal(ErrorCode.STALE_BROKER_EPOCH)
        return self._store.take_producer_ids(broker_id, PRODUCER_IDS)

    def balance(self) -> None:
        """Bring leaderships back to preferred replicas, of brokers that lack too many."""
        if self.context.reassigning:
            return
        kept = {
            partition: each
            for partition, each in self.context.assignments.items()
            if not self.context.is_deleting(partition)
        }
        percentage = self._settings.leader_imbalance_per_broker_percentage
        wanted = imbalanced(kept, self.context.states, self.context.live, percentage)
        self.elections.elect(ElectionType.PREFERRED, wanted, Trigger.AUTOMATIC)

    def _update_metadata(self, partitions: Iterable[TopicPartition], brokers: Iterable[int] | None = None) -> None:
        self.outbox.update_metadata(partitions, brokers)
        self.outbox.flush(self._store.epoch)
