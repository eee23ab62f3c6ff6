"""What a new cluster begins with."""

from typing import Final

from replication.controller.controller import Controller
from replication.controller.decision import Decision
from replication.controller.rules import ELR_FEATURE
from replication.metadata.metadata_version import METADATA_VERSION_FEATURE, MetadataVersion
from replication.metadata.records import FeatureLevelRecord
from replication.standalone.static_controller import StaticController

FEATURES: Final = {METADATA_VERSION_FEATURE: MetadataVersion.V4_3_IV0, ELR_FEATURE: 1}
"""What a new cluster agrees on: as a new one of Kafka 4.3, without what nothing here answers."""


def begin_cluster(controller: StaticController) -> None:
    """Let a cluster that knows no features yet agree on `FEATURES`."""

    def decide(deciding: Controller) -> Decision[None]:
        if deciding.cluster.image.features:
            return Decision([], None)
        return Decision([FeatureLevelRecord(name=name, feature_level=level) for name, level in FEATURES.items()], None)

    controller.decide(decide)
