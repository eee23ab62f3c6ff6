"""A controller with some brokers that live, for tests of what it decides."""

from random import Random
from typing import Any, TypeVar
from uuid import UUID

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.controller import Controller, ControllerSettings, HeartbeatAnswer
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.isr_changes import IsrChangeAnswer
from replication.cluster.controller.partition_index import PartitionKey
from replication.cluster.controller.topics.topics import NewTopic
from replication.records.leadership.rules import ELR_FEATURE
from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION, METADATA_VERSION_FEATURE
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import ConfigRecord, FeatureLevelRecord
from replication.wire.messages.alter_partition import AlterPartitionRequest, InSyncReplica, IsrChange
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.wire.messages.broker_registration import BrokerRegistrationRequest

T = TypeVar("T")
CLUSTER = "small"
SETTINGS = ControllerSettings()


def directory(broker_id: int) -> UUID:
    return UUID(int=1000 + broker_id)


class SmallCluster:
    """Brokers 1 to `brokers`, registered and unfenced; `racks` names the rack of each."""

    def __init__(
        self,
        brokers: int = 3,
        *,
        racks: str = "",
        elr: bool = False,
        level: int = LATEST_METADATA_VERSION,
        settings: ControllerSettings = SETTINGS,
    ) -> None:
        self.controller = Controller(CLUSTER, settings, random=Random(0))
        self.controller.replay([FeatureLevelRecord(name=METADATA_VERSION_FEATURE, feature_level=level)])
        if elr:
            self.controller.replay([FeatureLevelRecord(name=ELR_FEATURE, feature_level=1)])
        self.now = 0
        self.epochs: dict[int, int] = {}
        for broker_id in range(1, brokers + 1):
            self.register(broker_id, rack=racks[broker_id - 1] if racks else None)
            self.heartbeat(broker_id)

    def done(self, decision: Decision[T]) -> T:
        return self.controller.appended(decision)

    def register(self, broker_id: int, *, incarnation: int = 1, **fields: Any) -> int:
        request = BrokerRegistrationRequest(
            **{
                "broker_id": broker_id,
                "cluster_id": CLUSTER,
                "incarnation_id": UUID(int=incarnation),
                "listeners": (),
                "log_dirs": (directory(broker_id),),
                "features": {
                    METADATA_VERSION_FEATURE: range(1, 41),
                    ELR_FEATURE: range(2),
                },
                **fields,
            }
        )
        self.epochs[broker_id] = self.done(self.controller.register_broker(request, self.now))
        return self.epochs[broker_id]

    def heartbeat(self, broker_id: int, **fields: Any) -> HeartbeatAnswer:
        return self.done(self.controller.heartbeat(self.request(broker_id, **fields), self.now))

    def request(self, broker_id: int, **fields: Any) -> BrokerHeartbeatRequest:
        return BrokerHeartbeatRequest(
            **{
                "broker_id": broker_id,
                "broker_epoch": self.epochs[broker_id],
                "current_metadata_offset": self.controller.next_offset - 1,
                **fields,
            }
        )

    def fence(self, broker_id: int) -> None:
        assert self.heartbeat(broker_id, want_fence=True).is_fenced

    def topic(self, name: str, *assignments: tuple[int, ...], **configs: str) -> None:
        settings = {name.replace("_", "."): value for name, value in configs.items()}
        topic = NewTopic(name, assignments=dict(enumerate(assignments)), configs=settings)
        (answer,) = self.done(self.controller.create_topics([topic]))
        assert answer.topic_id is not None, answer

    def key(self, name: str, number: int = 0) -> PartitionKey:
        topic = self.controller.cluster.topic_named(name)
        assert topic is not None
        return PartitionKey(topic.id, number)

    def partition(self, name: str, number: int = 0) -> PartitionRegistration:
        return self.controller.cluster.partition(self.key(name, number))

    def configure(self, topic: str, name: str, value: str) -> None:
        resource = ConfigResourceType.TOPIC
        record = ConfigRecord(resource_type=resource, resource_name=topic, name=name, value=value)
        self.controller.replay([record])

    def set_isr(self, name: str, *isr: int, number: int = 0) -> IsrChangeAnswer:
        state = self.partition(name, number)
        change = IsrChange(
            *self.key(name, number), state.leader_epoch, state.partition_epoch, tuple(map(InSyncReplica, isr))
        )
        request = AlterPartitionRequest(
            broker_id=state.leader, broker_epoch=self.epochs[state.leader], changes=(change,)
        )
        (answer,) = self.done(self.controller.change_isrs(request))
        return answer


def named(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))
