"""Images of small clusters, and the same clusters as a controller has them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from replication.cluster.controller.cluster_state import ClusterState
from replication.records.leadership.rules import ELR_FEATURE
from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION, METADATA_VERSION_FEATURE
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import (
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    RegisterBrokerRecord,
    TopicRecord,
)

TOPIC_ID = UUID(int=1000)
TOPIC = "pay"


def directory(broker: int) -> UUID:
    return UUID(int=10_000 + broker)


def partition(
    replicas: Sequence[int],
    isr: Sequence[int] = (),
    leader: int = -1,
    elr: Sequence[int] = (),
    last_known: Sequence[int] = (),
    epoch: int = 0,
) -> PartitionRegistration:
    return PartitionRegistration(
        replicas=tuple(replicas),
        isr=tuple(isr),
        leader=leader,
        leader_epoch=epoch,
        elr=tuple(elr),
        last_known_elr=tuple(last_known),
        directories=tuple(map(directory, replicas)),
    )


@dataclass
class Cluster:
    """Brokers that are registered, and one topic of one partition; broker n's epoch is 100 + n."""

    partition: PartitionRegistration
    elr: bool = False
    alive: Iterable[int] = ()
    """Brokers that are not fenced by the metadata."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The topic's."""
    cluster_settings: Mapping[str, str] = field(default_factory=dict)
    metadata_version: int = LATEST_METADATA_VERSION

    def records(self) -> list[MetadataRecord]:
        alive = {*self.alive}
        features = {METADATA_VERSION_FEATURE: self.metadata_version, **({ELR_FEATURE: 1} if self.elr else {})}
        settings = [
            ConfigRecord(resource_type=type_, resource_name=resource, name=name, value=value)
            for type_, resource, values in (
                (ConfigResourceType.TOPIC, TOPIC, self.settings),
                (ConfigResourceType.BROKER, "", self.cluster_settings),
            )
            for name, value in values.items()
        ]
        return [
            *(FeatureLevelRecord(name=name, feature_level=level) for name, level in features.items()),
            *(
                RegisterBrokerRecord(
                    broker_id=each,
                    incarnation_id=UUID(int=each),
                    broker_epoch=100 + each,
                    fenced=each not in alive,
                    log_dirs=(directory(each),),
                )
                for each in sorted(self.partition.replicas)
            ),
            *settings,
            TopicRecord(name=TOPIC, topic_id=TOPIC_ID),
            self.partition.record(TOPIC_ID, 0),
        ]

    def image(self) -> ClusterImage:
        image = ClusterImage()
        image.replay_all(self.records())
        return image

    def state(self) -> ClusterState:
        state = ClusterState(as_kafka=True)
        for offset, record in enumerate(self.records()):
            state.replay(record, offset)
        return state
