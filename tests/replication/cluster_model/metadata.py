"""What the controller has decided, as a value; each decision is made by the real controller, and remembered.

A broker's epoch is the number of its registration: the log of the model's controller has nothing else in it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any, Final, NamedTuple
from uuid import UUID

from logstore import TopicPartition
from replication.cluster.controller.brokers.sessions import BrokerIncarnation
from replication.cluster.controller.controller import Controller, ControllerSettings
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.isr_changes import IsrChangeAnswer
from replication.cluster.controller.partition_index import PartitionKey
from replication.cluster.controller.refusal import Refusal
from replication.records.leadership.rules import ELR_FEATURE
from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION, METADATA_VERSION_FEATURE
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import FeatureLevelRecord, RegisterBrokerRecord, TopicRecord
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import AlterPartitionRequest, IsrChange
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.wire.messages.broker_registration import BrokerRegistrationRequest
from replication.wire.messages.elect_leaders import ElectionType
from tests.replication.cluster_model.canonical import Canonical
from tests.replication.cluster_model.scope import Scope

PARTITION: Final = TopicPartition("orders", 0)
TOPIC_ID: Final = UUID(int=1_000)
KEY: Final = PartitionKey(TOPIC_ID, 0)
CLUSTER: Final = "model"
ALL_REPLAYED: Final = 1 << 40
SILENT_MS: Final = 1 << 20
FIRST_EPOCH: Final = 0
"""The leader epoch in which the model begins."""


class Broker(NamedTuple):
    """A broker's registration, as far as anything in the model depends on it."""

    id: int
    epoch: int
    fenced: bool
    in_controlled_shutdown: bool = False


@dataclass(frozen=True, eq=False)
class Metadata(metaclass=Canonical):
    """The partition and the brokers, and how many registrations there were."""

    partition: PartitionRegistration
    brokers: tuple[Broker, ...]
    registrations: int

    @property
    def leader(self) -> int:
        """Who leads; NO_LEADER for nobody."""
        return self.partition.leader

    def is_active(self, broker_id: int) -> bool:
        """Whether a broker may be in the ISR."""
        broker = self.brokers[broker_id]
        return not broker.fenced and not broker.in_controlled_shutdown


class Granted(NamedTuple):
    """What the controller answered to a change of the ISR."""

    error: ErrorCode
    partition: PartitionRegistration | None


@cache
def registration(broker: Broker) -> BrokerRegistration:
    """Return a broker as the metadata image has it."""
    return BrokerRegistration.of(_registered(broker))


def first_metadata(scope: Scope) -> Metadata:
    """Return a cluster of which all brokers are in sync, and the first leads."""
    ids = tuple(range(scope.replicas))
    partition = PartitionRegistration(
        replicas=ids,
        isr=ids,
        leader=0,
        leader_epoch=FIRST_EPOCH,
        directories=tuple(map(_directory, ids)),
    )
    return Metadata(partition, tuple(Broker(each, each, fenced=False) for each in ids), len(ids))


class Decisions:
    """What the real controller makes of each event: the metadata after it."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.registered = cache(self._register)
        self.fenced = cache(self._fence)
        self.unfenced = cache(self._unfence)
        self.shutting_down = cache(self._shut_down)
        self.balanced = cache(self._balance)
        self.changed = cache(self._change)

    def _register(self, metadata: Metadata, broker_id: int, previous_epoch: int) -> Metadata:
        """Take a new incarnation of a broker; with the epoch before, it has stopped in order."""
        request = BrokerRegistrationRequest(
            broker_id=broker_id,
            cluster_id=CLUSTER,
            incarnation_id=UUID(int=2_000 + metadata.registrations),
            listeners=(),
            features={METADATA_VERSION_FEATURE: range(1, LATEST_METADATA_VERSION + 1), ELR_FEATURE: range(2)},
            log_dirs=(_directory(broker_id),),
            previous_broker_epoch=previous_epoch,
        )
        after = self._after(metadata, lambda controller: controller.register_broker(request, 0))
        assert after.brokers[broker_id].epoch == metadata.registrations
        return Metadata(after.partition, after.brokers, metadata.registrations + 1)

    def _fence(self, metadata: Metadata, broker_id: int) -> Metadata:
        """Hear nothing of a broker for too long."""
        return self._after(metadata, lambda controller: _session_expires(controller, broker_id))

    def _unfence(self, metadata: Metadata, broker_id: int) -> Metadata:
        """Hear of a broker that has replayed its registration."""
        return self._after(metadata, lambda each: each.heartbeat(_heartbeat(metadata, broker_id), 0))

    def _shut_down(self, metadata: Metadata, broker_id: int) -> Metadata:
        """Hear of a broker that wants to stop."""
        wish = _heartbeat(metadata, broker_id, wants_shut_down=True)
        return self._after(metadata, lambda each: each.heartbeat(wish, 0))

    def _balance(self, metadata: Metadata) -> Metadata:
        """Let the first replica lead, where it may."""
        return self._after(metadata, lambda each: each.elect_leaders(ElectionType.PREFERRED, [PARTITION]))

    def _change(
        self, metadata: Metadata, sender: int, sender_epoch: int, change: IsrChange
    ) -> tuple[Metadata, Granted]:
        """Answer a leader that wants another ISR."""
        controller = self._controller(metadata)
        try:
            decision = controller.change_isrs(
                AlterPartitionRequest(broker_id=sender, broker_epoch=sender_epoch, changes=(change,))
            )
        except Refusal as refusal:
            return metadata, Granted(refusal.code, None)
        answer: IsrChangeAnswer = controller.appended(decision)[0]
        return _metadata(controller, metadata), Granted(answer.error, answer.partition)

    def _after(self, metadata: Metadata, decide: Callable[[Controller], Decision[Any]]) -> Metadata:
        controller = self._controller(metadata)
        controller.appended(decide(controller))
        return _metadata(controller, metadata)

    def _controller(self, metadata: Metadata) -> Controller:
        """Return a controller that has replayed a log which says this."""
        settings = ControllerSettings(
            leader_imbalance_check_interval_ms=None, defaults={"min.insync.replicas": str(self._scope.min_isr)}
        )
        controller = Controller(CLUSTER, settings, random=Random(0), new_topic_id=lambda: TOPIC_ID)
        features = [FeatureLevelRecord(name=METADATA_VERSION_FEATURE, feature_level=LATEST_METADATA_VERSION)]
        if self._scope.elr:
            features.append(FeatureLevelRecord(name=ELR_FEATURE, feature_level=1))
        controller.replay(
            [
                *features,
                *map(_registered, metadata.brokers),
                TopicRecord(name=PARTITION.topic, topic_id=TOPIC_ID),
                metadata.partition.record(TOPIC_ID, 0),
            ]
        )
        controller.next_offset = metadata.registrations
        return controller


def _metadata(controller: Controller, before: Metadata) -> Metadata:
    known = controller.cluster.image.brokers
    brokers = (known[each.id] for each in before.brokers)
    return Metadata(
        replace(controller.cluster.partition(KEY)),
        tuple(Broker(each.id, each.epoch, each.fenced, each.in_controlled_shutdown) for each in brokers),
        before.registrations,
    )


def _session_expires(controller: Controller, broker_id: int) -> Decision[None]:
    broker = controller.cluster.image.brokers[broker_id]
    controller.sessions.contact(BrokerIncarnation(broker_id, broker.epoch), 0)
    return controller.fence_one_stale_broker(SILENT_MS)


def _heartbeat(metadata: Metadata, broker_id: int, *, wants_shut_down: bool = False) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(
        broker_id=broker_id,
        broker_epoch=metadata.brokers[broker_id].epoch,
        current_metadata_offset=ALL_REPLAYED,
        want_shut_down=wants_shut_down,
    )


def _registered(broker: Broker) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=UUID(int=2_000 + broker.epoch),
        broker_epoch=broker.epoch,
        end_points=(),
        features=(),
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=(_directory(broker.id),),
    )


def _directory(broker_id: int) -> UUID:
    return UUID(int=3_000 + broker_id)
