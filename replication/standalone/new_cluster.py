"""What a new cluster begins with."""

from typing import Final

from replication.controller.cluster_state import ClusterState
from replication.controller.controller import Controller
from replication.controller.decision import Decision
from replication.controller.rules import ELR_FEATURE
from replication.metadata.configurations import MIN_IN_SYNC_REPLICAS, ConfigResourceType
from replication.metadata.metadata_version import METADATA_VERSION_FEATURE, MetadataVersion
from replication.metadata.records import ConfigRecord, FeatureLevelRecord
from replication.standalone.static_controller import StaticController

FEATURES: Final = {METADATA_VERSION_FEATURE: MetadataVersion.V4_3_IV0, ELR_FEATURE: 1}
"""What a new cluster agrees on: as a new one of Kafka 4.3, without what nothing here answers."""


def begin_cluster(controller: StaticController) -> None:
    """Let a cluster that knows no features yet agree on `FEATURES`."""

    def decide(deciding: Controller) -> Decision[None]:
        if deciding.cluster.image.features:
            return Decision([], None)
        features = [FeatureLevelRecord(name=name, feature_level=level) for name, level in FEATURES.items()]
        return Decision([*features, _least_in_sync(deciding.cluster)], None)

    controller.decide(decide)


def _least_in_sync(cluster: ClusterState) -> ConfigRecord:
    """Return what sets for all brokers alike how many replicas must be in sync, which with ELR they must agree on."""
    value = cluster.own_settings.get(MIN_IN_SYNC_REPLICAS, "1")
    return ConfigRecord(
        resource_type=ConfigResourceType.BROKER, resource_name="", name=MIN_IN_SYNC_REPLICAS, value=value
    )
