"""A controller that asks Kafka's own, request for request, and fails where the two decide differently."""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar
from uuid import UUID

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.brokers import broker_changes
from replication.cluster.controller.brokers.sessions import BrokerIncarnation
from replication.cluster.controller.controller import Controller, HeartbeatAnswer
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.elections import ElectionAnswer
from replication.cluster.controller.isr_changes import IsrChangeAnswer
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.topics.reassignments import ReassignmentAnswer, ReassignmentRequest
from replication.cluster.controller.topics.replica_placement import place_replicas
from replication.cluster.controller.topics.topics import MorePartitions, NewTopic, TopicAnswer, _usable_brokers
from replication.records.metadata.framing import decode, encode
from replication.records.metadata.records import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    PartitionChangeRecord,
    TopicRecord,
)
from replication.wire.messages.alter_partition import AlterPartitionRequest
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.wire.messages.broker_registration import BrokerRegistrationRequest
from replication.wire.messages.elect_leaders import ElectionType
from tests.oracle.kafka import JavaProgram

T = TypeVar("T")


class KnownDifferenceError(Exception):
    """The two decide differently where that is known: the story ends here."""


class TwinController(Controller):
    """Ours, with Kafka's beside it."""

    kafka: JavaProgram
    kafka_now = 0

    def compare(self, decide: Callable[[], Decision[T]], *words: object, first: bool = False) -> Decision[T]:
        """Decide, and see that Kafka answers the same to a line of words."""
        told = self.ask(*words)
        if first:
            self.learn(told[1])
        return self.compare_told(decide, told, words)

    def compare_told(
        self, decide: Callable[[], Decision[T]], told: tuple[str, list[MetadataRecord]], words: object
    ) -> Decision[T]:
        try:
            decision = decide()
        except Refusal as refusal:
            refused = (refusal.name, [])
            if refused != told:
                raise AssertionError(f"{words}: ours {refused}, Kafka's {told}") from refusal
            raise
        error = _error(decision.answer)
        assert error == told[0], f"{words}: ours {error}, Kafka's {told}"
        self.compare_records(decision.records, told[1], words)
        return decision

    def compare_records(self, ours: Iterable[MetadataRecord], theirs: list[MetadataRecord], words: object) -> None:
        level = self.cluster.rules.metadata_version
        written = [decode(encode(record, level)) for record in ours]
        if sorted(map(repr, written)) != sorted(map(repr, theirs)):
            self.check_known(theirs)
            only_ours = [record for record in written if record not in theirs]
            only_theirs = [record for record in theirs if record not in written]
            raise AssertionError(f"{words}\nours   {only_ours}\nKafka's {only_theirs}")

    def ask(self, *words: object) -> tuple[str, list[MetadataRecord]]:
        (answer,) = self.kafka.ask(" ".join(map(str, words)))
        error, _, values = answer.partition(" ")
        if error.startswith("BROKEN_java_lang_IllegalArgumentException_Replica_"):
            raise KnownDifferenceError
        return error, [decode(b64decode(value)) for value in values.split(",") if value]

    def check_known(self, theirs: Iterable[MetadataRecord]) -> None:
        """Kafka keeps brokers eligible that were reassigned away."""
        for record in theirs:
            if isinstance(record, PartitionChangeRecord):
                state = self.cluster.image.topics.partition(record.topic_id, record.partition_id)
                after = state.changed(record)
                if not set(after.elr) <= set(after.replicas):
                    raise KnownDifferenceError

    def learn(self, theirs: Iterable[MetadataRecord]) -> None:
        for record in theirs:
            if isinstance(record, TopicRecord):
                self.next_id = record.topic_id

    def at(self, now: int) -> None:
        if now > self.kafka_now:
            self.ask("sleep", now - self.kafka_now)
            self.kafka_now = now

    # Requests

    def register_broker(self, request: BrokerRegistrationRequest, now: int) -> Decision[int]:
        self.at(now)
        words = (request.broker_id, _uuid(request.incarnation_id), _uuid(request.log_dirs[0]))
        decide = super().register_broker
        return self.compare(
            lambda: decide(request, now), "register", *words, request.previous_broker_epoch, request.rack or "-"
        )

    def unregister_broker(self, broker_id: int) -> Decision[None]:
        decide = super().unregister_broker
        return self.compare(lambda: decide(broker_id), "unregister", broker_id)

    def heartbeat(self, request: BrokerHeartbeatRequest, now: int) -> Decision[HeartbeatAnswer]:
        self.at(now)
        words = (request.broker_id, request.broker_epoch, request.current_metadata_offset)
        wants = (str(request.want_fence).lower(), str(request.want_shut_down).lower())
        decide = super().heartbeat
        return self.compare(lambda: decide(request, now), "heartbeat", *words, *wants)

    def change_isrs(self, request: AlterPartitionRequest) -> Decision[list[IsrChangeAnswer]]:
        (change,) = request.changes
        members = ",".join(f"{member.broker_id}:{member.broker_epoch}" for member in change.isr)
        key = (_uuid(change.topic_id), change.partition)
        words = (change.leader_epoch, change.partition_epoch, int(change.leader_recovery_state), members)
        decide = super().change_isrs
        return self.compare(lambda: decide(request), "isr", request.broker_id, request.broker_epoch, *key, *words)

    def elect_leaders(
        self, election_type: ElectionType, partitions: Sequence[TopicPartition] | None
    ) -> Decision[list[ElectionAnswer]]:
        known = [TopicPartition(topic.name, number) for topic, number, _ in self.cluster.image.topics.partitions()]
        one = list(partitions or known)[:1]
        if not one:
            return Decision([], [])
        decide = super().elect_leaders
        return self.compare(lambda: decide(election_type, one), "elect", int(election_type), *one[0])

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> Decision[list[TopicAnswer]]:
        assert not validate_only
        (topic,) = topics
        placed = place_replicas(
            _usable_brokers(self.cluster), topic.partitions, topic.replication_factor, self._topic_maker.random
        )
        named = NewTopic(topic.name, assignments=dict(enumerate(placed)), configs=topic.configs)
        unclean = topic.configs.get("unclean.leader.election.enable", "-")
        words = (topic.name, topic.configs["min.insync.replicas"], unclean, _lists(placed))
        decide = super().create_topics
        return self.compare(lambda: decide([named]), "create", *words, first=True)

    def add_partitions(
        self, requests: Iterable[MorePartitions], *, validate_only: bool = False
    ) -> Decision[list[TopicAnswer]]:
        assert not validate_only
        (more,) = requests
        topic = self.cluster.topic_named(more.name)
        assert topic is not None
        additional = more.count - len(topic.partitions)
        factors = {len(state.replicas) for state in topic.partitions.values()}
        if len(factors) > 1:
            return Decision([], [])  # Kafka takes the number of any partition
        factor = factors.pop()
        placed = place_replicas(_usable_brokers(self.cluster), max(additional, 1), factor, self._topic_maker.random)
        named = MorePartitions(more.name, more.count, placed)
        decide = super().add_partitions
        return self.compare(lambda: decide([named]), "enlarge", more.name, more.count, _lists(placed))

    def delete_topics(self, topics: Iterable[str | UUID]) -> Decision[list[TopicAnswer]]:
        (topic,) = topics
        assert isinstance(topic, UUID)
        decide = super().delete_topics
        return self.compare(lambda: decide([topic]), "delete", _uuid(topic))

    def alter_reassignments(
        self,
        requests: Iterable[ReassignmentRequest],
        *,
        allow_replication_factor_change: bool = True,  # noqa: ARG002 - as the base has it
    ) -> Decision[list[ReassignmentAnswer]]:
        (request,) = requests
        wished = "cancel" if request.replicas is None else ",".join(map(str, request.replicas))
        decision = super().alter_reassignments([request])
        told = self.ask("reassign", *request.partition, wished)
        (answer,) = decision.answer
        if told[0] == "NONE" and "eligible leader replicas" in (answer.message or ""):
            raise KnownDifferenceError
        return self.compare_told(lambda: decision, told, ("reassign", *request.partition, wished))

    def balance_leaders(self) -> Decision[bool]:
        return self.compare(super().balance_leaders, "balance")

    def elect_uncleanly(self) -> Decision[bool]:
        return self.compare(super().elect_uncleanly, "unclean")

    def tick(self, now: int) -> Decision[None] | None:
        """Of several sessions that have run out Kafka takes any: take the same."""
        self.at(now)
        told, records = self.ask("fence")
        if told == "NONE":
            assert self.sessions.take_expired(now) is None
            return None
        brokers = self.cluster.image.brokers
        serving = {broker.id: BrokerIncarnation(broker.id, broker.epoch) for broker in brokers.values()}
        expired = [each for each in self.sessions._contacts if not self.sessions.has_session(each, now)]
        if not records:
            self.sessions._contacts.pop(next(each for each in expired if each not in serving.values()))
            return Decision([], None)
        fenced = records[-1]
        assert isinstance(fenced, BrokerRegistrationChangeRecord)
        assert serving[fenced.broker_id] in expired
        self.sessions._contacts.pop(serving[fenced.broker_id])
        decided = broker_changes.fence(self.cluster, brokers[fenced.broker_id])
        self.compare_records(decided, records, f"fence {fenced.broker_id}")
        return Decision(decided, None)


def _error(answer: Any) -> str:
    if isinstance(answer, list):
        return str(answer[0].error.name)
    return "NONE"


def _uuid(uuid: UUID) -> str:
    return urlsafe_b64encode(uuid.bytes).decode().rstrip("=")


def _lists(placed: Iterable[tuple[int, ...]]) -> str:
    return ";".join(",".join(map(str, replicas)) for replicas in placed)
