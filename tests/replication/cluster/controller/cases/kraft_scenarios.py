"""What Kafka's ClusterControlManager and ReplicationControlManager 4.3.1 answered, with the state after each step."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

from logstore.files.partition_metadata import parse_uuid
from logstore.topic_partition import TopicPartition
from replication.cluster.controller.brokers.sessions import BrokerIncarnation
from replication.cluster.controller.controller import Controller, ControllerSettings
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.topics.reassignments import ReassignmentRequest
from replication.cluster.controller.topics.topics import MorePartitions, NewTopic
from replication.records.leadership.rules import ELR_FEATURE
from replication.records.metadata.metadata_version import METADATA_VERSION_FEATURE, MetadataVersion
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.partition import LeaderRecoveryState, PartitionRegistration
from replication.records.metadata.records import FeatureLevelRecord
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import AlterPartitionRequest, InSyncReplica, IsrChange
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.wire.messages.broker_registration import BrokerRegistrationRequest
from replication.wire.messages.elect_leaders import ElectionType
from tests.replication.cluster.controller.case import Case, Cases, Document, only

CLUSTER_ID = "fPZv1VBsRFmnlRvmGcOW9w"
ZK_BROKER = "ZK broker"
NO_TOPIC = UUID(int=2**127)


def cases(document: Document) -> Cases:
    only(document, "source", "scenarios")
    for scenario in document["scenarios"]:
        yield Case(scenario["id"], partial(check, scenario))


def check(scenario: Document) -> None:
    only(scenario, "id", "why", "elr_enabled", "session_timeout_ms", "first_offset", "steps")
    cluster = Cluster(scenario)
    for number, step in enumerate(scenario["steps"]):
        only(step, "op", "args", "expect")
        expected = dict(step.get("expect", {}))
        if step["op"] == "fence_one_stale_broker":
            cluster.prefer_to_fence(expected["brokers"])
        told = cluster.take(step["op"], dict(step["args"]))
        brokers, partitions = expected.pop("brokers", None), expected.pop("partitions", None)
        where = f"step {number}: {step['op']} {step['args']}"
        if cluster.placed_anywhere:
            expected.pop("records", None)
            expected.pop("batch_end_offset", None)
        if "results" in expected:
            expected["results"] = results_by_partition(expected["results"])
        for name, value in expected.items():
            assert told.get(name) == value, f"{name} after {where}"
        if brokers is not None:
            assert cluster.brokers() == brokers, where
        if partitions is not None:
            assert cluster.partitions() == cluster.comparable(partitions), where


class Cluster:
    """A controller whose log begins at the scenario's first offset, and whose clock moves only as the steps say."""

    def __init__(self, scenario: Document) -> None:
        bootstrap = [FeatureLevelRecord(name=METADATA_VERSION_FEATURE, feature_level=MetadataVersion.V4_3_IV0)]
        if scenario["elr_enabled"]:
            bootstrap.append(FeatureLevelRecord(name=ELR_FEATURE, feature_level=1))
        settings = ControllerSettings(broker_session_timeout_ms=scenario["session_timeout_ms"])
        first = scenario["first_offset"] - len(bootstrap)
        self.controller = Controller(CLUSTER_ID, settings, next_offset=first, random=Random(0))
        self.controller.replay(bootstrap)
        self.now = 0
        self.placed_anywhere: set[str] = set()
        """Topics whose replicas each controller places by chance: neither their partitions are compared, nor how many
        records change them."""

    def take(self, op: str, args: dict[str, Any]) -> dict[str, Any]:
        """Do a step, and tell what a client would be told, and which records there were."""
        args.pop("note", None) if op != "register_broker" else None
        try:
            told = getattr(self, op)(**args)
        except Refusal as refusal:
            return {"error": refusal.name, "message": refusal.message, "records": []}
        return told

    def decided(self, decision: Decision[Any], told: Callable[[Any], dict[str, Any]] = lambda _: {}) -> dict[str, Any]:
        records = [type(record).__name__ for record in decision.records]
        return {"error": "NONE", "records": records, **told(self.controller.appended(decision))}

    def prefer_to_fence(self, expected: Document) -> None:
        """Of several sessions that have run out Kafka takes any: let the next be the one that it took."""
        brokers, sessions = self.controller.cluster.image.brokers, self.controller.sessions
        serving = {BrokerIncarnation(broker.id, broker.epoch) for broker in brokers.values() if not broker.fenced}
        fenced = {each for each in serving if expected.get(str(each.broker_id), {}).get("fenced")}

        def is_later(known: tuple[BrokerIncarnation, int]) -> tuple[bool, bool, bool]:
            each, _ = known
            return sessions.has_session(each, self.now), (each in serving) != (each in fenced), each not in serving

        sessions._contacts = dict(sorted(sessions._contacts.items(), key=is_later))

    # Steps

    def advance_time(self, ms: int) -> dict[str, Any]:
        self.now += ms
        return {}

    def register_broker(
        self,
        *,
        broker: int,
        incarnation: int,
        cluster_id_ok: bool,
        next_offset: int,
        previous_broker_epoch: int,
        log_dirs: list[str],
        features: list[str],
        rack: str | None = None,
        note: str = "",
    ) -> dict[str, Any]:
        if self.placed_anywhere:
            self.controller.next_offset = next_offset
        assert self.controller.next_offset == next_offset
        request = BrokerRegistrationRequest(
            broker_id=broker,
            cluster_id=CLUSTER_ID if cluster_id_ok else "other",
            incarnation_id=UUID(int=incarnation),
            listeners=(),
            features=dict(map(feature_of, features)),
            rack=rack,
            log_dirs=tuple(map(parse_uuid, log_dirs)),
            previous_broker_epoch=previous_broker_epoch,
            is_migrating_zk_broker=note == ZK_BROKER,
        )
        return self.decided(self.controller.register_broker(request, self.now), lambda epoch: {"broker_epoch": epoch})

    def heartbeat(
        self,
        *,
        broker: int,
        broker_epoch: int,
        current_metadata_offset: int,
        want_fence: bool,
        want_shut_down: bool,
        register_record_offset: int | None = None,
    ) -> dict[str, Any]:
        assert self.controller.cluster.registration_offsets.get(broker) == register_record_offset
        request = BrokerHeartbeatRequest(
            broker_id=broker,
            broker_epoch=broker_epoch,
            current_metadata_offset=current_metadata_offset,
            want_fence=want_fence,
            want_shut_down=want_shut_down,
        )
        told = self.decided(
            self.controller.heartbeat(request, self.now),
            lambda answer: {
                "is_caught_up": answer.is_caught_up,
                "is_fenced": answer.is_fenced,
                "should_shut_down": answer.should_shut_down,
                "in_controlled_shutdown": answer.in_controlled_shutdown,
            },
        )
        return {**told, "batch_end_offset": self.controller.next_offset - 1}

    def fence_one_stale_broker(self) -> dict[str, Any]:
        return self.decided(self.controller.fence_one_stale_broker(self.now))

    def unregister_broker(self, *, broker: int) -> dict[str, Any]:
        return self.decided(self.controller.unregister_broker(broker))

    def create_topic(self, *, topic: str, assignments: list[list[int]], configs: dict[str, str]) -> dict[str, Any]:
        replicas = {number: tuple(each) for number, each in enumerate(assignments)}
        return self.create(NewTopic(topic, assignments=replicas, configs=configs))

    def create_topic_auto(
        self, *, topic: str, partitions: int = -1, replication_factor: int = -1, configs: dict[str, str] | None = None
    ) -> dict[str, Any]:
        self.placed_anywhere.add(topic)
        return self.create(NewTopic(topic, partitions, replication_factor, configs=configs or {}))

    def create(self, topic: NewTopic) -> dict[str, Any]:
        return self.decided(self.controller.create_topics([topic]), lambda answers: error_of(answers[0]))

    def create_partitions(
        self, *, topic: str, count: int, assignments: list[list[int]] | None = None
    ) -> dict[str, Any]:
        replicas = None if assignments is None else [tuple(each) for each in assignments]
        decision = self.controller.add_partitions([MorePartitions(topic, count, replicas)])
        return self.decided(decision, lambda answers: error_of(answers[0]))

    def delete_topic(self, *, topic: str) -> dict[str, Any]:
        known = self.controller.cluster.topic_named(topic)
        decision = self.controller.delete_topics([known.id if known else NO_TOPIC])
        return self.decided(decision, lambda answers: error_of(answers[0]))

    def alter_partition(
        self,
        *,
        broker: int,
        broker_epoch: int,
        topic: str,
        partition: int,
        leader_epoch: int,
        partition_epoch: int,
        new_isr: list[int],
        leader_recovery_state: str,
        isr_broker_epochs: int = -1,
    ) -> dict[str, Any]:
        known = self.controller.cluster.topic_named(topic)
        change = IsrChange(
            known.id if known else NO_TOPIC,
            partition,
            leader_epoch,
            partition_epoch,
            tuple(InSyncReplica(each, isr_broker_epochs) for each in new_isr),
            LeaderRecoveryState[leader_recovery_state],
        )
        decision = self.controller.change_isrs(
            AlterPartitionRequest(broker_id=broker, broker_epoch=broker_epoch, changes=(change,))
        )
        return self.decided(decision, lambda answers: {**error_of(answers[0]), **reply_of(answers[0].partition)})

    def alter_partition_reassignment(self, *, topic: str, partition: int, replicas: list[int] | None) -> dict[str, Any]:
        wished = None if replicas is None else tuple(replicas)
        decision = self.controller.alter_reassignments([ReassignmentRequest(TopicPartition(topic, partition), wished)])
        return self.decided(decision, lambda answers: error_of(answers[0]))

    def elect_leaders(self, **args: Any) -> dict[str, Any]:
        only(args, "type", "election_type", "topic", "partition", "partitions")
        kind = ElectionType[args.get("election_type") or args["type"]]
        named = args.get("partitions")
        if args.get("topic") is not None:
            named = [args]
        asked = None if named is None else list(map(partition_of, named))
        return self.decided(
            self.controller.elect_leaders(kind, asked),
            lambda answers: {
                **(error_of(answers[0]) if len(answers) == 1 else {}),
                "results": {str(answer.partition): answer.error.name for answer in answers},
            },
        )

    def balance_partition_leaders(self) -> dict[str, Any]:
        return self.decided(self.controller.balance_leaders())

    def list_partition_reassignments(self, *, topic: str | None = None, partition: int = 0) -> dict[str, Any]:
        asked = None if topic is None else [TopicPartition(topic, partition)]
        ongoing = self.controller.list_reassignments(asked)
        return {
            "error": "NONE",
            "records": [],
            "reassignments": {
                str(each.partition): {
                    "replicas": list(each.state.replicas),
                    "adding_replicas": list(each.state.adding_replicas),
                    "removing_replicas": list(each.state.removing_replicas),
                }
                for each in ongoing
            },
        }

    def elect_unclean_leaders(self) -> dict[str, Any]:
        return self.decided(self.controller.elect_uncleanly())

    # State

    def brokers(self) -> dict[str, dict[str, Any]]:
        return {str(broker.id): told_of_broker(broker) for broker in self.controller.cluster.image.brokers.values()}

    def partitions(self) -> dict[str, dict[str, Any]]:
        walk = self.controller.cluster.image.topics.partitions()
        return self.comparable({f"{topic.name}-{number}": told_of(state) for topic, number, state in walk})

    def comparable(self, partitions: Document) -> dict[str, dict[str, Any]]:
        return {
            name: complete(state)
            for name, state in partitions.items()
            if name.rpartition("-")[0] not in self.placed_anywhere
        }


def told_of_broker(broker: BrokerRegistration) -> dict[str, Any]:
    return {
        "fenced": broker.fenced,
        "in_controlled_shutdown": broker.in_controlled_shutdown,
        "epoch": broker.epoch,
    }


def told_of(state: PartitionRegistration) -> dict[str, Any]:
    return {
        "replicas": list(state.replicas),
        "isr": list(state.isr),
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "partition_epoch": state.partition_epoch,
        "leader_recovery_state": LeaderRecoveryState(state.leader_recovery_state).name,
        "adding_replicas": list(state.adding_replicas),
        "removing_replicas": list(state.removing_replicas),
        "elr": list(state.elr),
        "last_known_elr": list(state.last_known_elr),
    }


def complete(told: Document) -> dict[str, Any]:
    """Return a partition's fields with those that are left out for being empty; sets in order."""
    known = ("replicas", "isr", "leader", "leader_epoch", "partition_epoch", "leader_recovery_state")
    lists, sets = ("adding_replicas", "removing_replicas"), ("elr", "last_known_elr")
    only(told, *known, *lists, *sets)
    return {
        **{name: told[name] for name in known},
        **{name: told.get(name, []) for name in lists},
        **{name: sorted(told.get(name, [])) for name in sets},
    }


def reply_of(partition: PartitionRegistration | None) -> dict[str, Any]:
    if partition is None:
        return {}
    return {
        "reply_leader": partition.leader,
        "reply_leader_epoch": partition.leader_epoch,
        "reply_partition_epoch": partition.partition_epoch,
        "reply_isr": list(partition.isr),
    }


def error_of(answer: Any) -> dict[str, Any]:
    code: ErrorCode = answer.error
    return {"error": code.name, "message": getattr(answer, "message", None)}


def partition_of(named: Any) -> TopicPartition:
    """Take "a-0", ["a", 0] or fields."""
    if isinstance(named, str):
        topic, _, number = named.rpartition("-")
        return TopicPartition(topic, int(number))
    return TopicPartition(named["topic"], named["partition"]) if isinstance(named, dict) else TopicPartition(*named)


def results_by_partition(results: Any) -> dict[str, str]:
    """Take errors by partition, or a list of fields."""
    if isinstance(results, list):
        return {str(partition_of(each)): each["error"] for each in results}
    return {name: told["error"] if isinstance(told, dict) else told for name, told in results.items()}


def feature_of(text: str) -> tuple[str, range]:
    name, levels = text.split(":")
    first, last = levels.split("-")
    return name, range(int(first), int(last) + 1)
