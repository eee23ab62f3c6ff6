"""What a new cluster begins with."""

from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.controller import Controller
from replication.cluster.controller.decision import Decision
from replication.cluster.standalone.requests.broker_requests import Decider
from replication.records.leadership.rules import ELR_FEATURE
from replication.records.metadata.configurations import MIN_IN_SYNC_REPLICAS, ConfigResourceType
from replication.records.metadata.metadata_version import METADATA_VERSION_FEATURE, MetadataVersion
from replication.records.metadata.records import ConfigRecord, FeatureLevelRecord


def begin_cluster(controller: Decider, *, eligible_leader_replicas: bool = True) -> None:
    """Set the features of a new cluster to those of Kafka 4.3 that are supported here, unless it has any.

    Without `eligible_leader_replicas` leaders are elected as before KIP-966.
    """
    levels: dict[str, int] = {METADATA_VERSION_FEATURE: MetadataVersion.V4_3_IV0}
    if eligible_leader_replicas:
        levels[ELR_FEATURE] = 1

    def decide(deciding: Controller) -> Decision[None]:
        if deciding.cluster.image.features:
            return Decision([], None)
        features = [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items()]
        return Decision([*features, _least_in_sync(deciding.cluster)], None)

    controller.decide(decide)


def _least_in_sync(cluster: ClusterState) -> ConfigRecord:
    """Return what sets for all brokers alike how many replicas must be in sync, which with ELR they must agree on."""
    value = cluster.own_settings.get(MIN_IN_SYNC_REPLICAS, "1")
    return ConfigRecord(
        resource_type=ConfigResourceType.BROKER, resource_name="", name=MIN_IN_SYNC_REPLICAS, value=value
    )
