"""What the metadata of a simulated cluster begins with."""

from replication.controller.cluster_state import ClusterState
from replication.controller.controller import Controller
from replication.controller.decision import Decision
from replication.controller.rules import ELR_FEATURE
from replication.metadata.configurations import MIN_IN_SYNC_REPLICAS, ConfigResourceType
from replication.metadata.metadata_version import METADATA_VERSION_FEATURE, MetadataVersion
from replication.metadata.records import ConfigRecord, FeatureLevelRecord, MetadataRecord


def beginning(deciding: Controller, *, with_elr: bool) -> Decision[None]:
    """Let a new cluster agree on features, and on how many replicas must be in sync, which with ELR brokers share."""
    features = {METADATA_VERSION_FEATURE: MetadataVersion.V4_3_IV0, **({ELR_FEATURE: 1} if with_elr else {})}
    records: list[MetadataRecord] = [
        FeatureLevelRecord(name=name, feature_level=level) for name, level in features.items()
    ]
    return Decision([*records, _least_in_sync(deciding.cluster)], None)


def _least_in_sync(cluster: ClusterState) -> ConfigRecord:
    value = cluster.own_settings.get(MIN_IN_SYNC_REPLICAS, "1")
    return ConfigRecord(
        resource_type=ConfigResourceType.BROKER, resource_name="", name=MIN_IN_SYNC_REPLICAS, value=value
    )
