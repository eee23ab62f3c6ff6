"""`metadata.version`: which records, in which versions, a cluster's nodes have agreed on (KIP-584, KIP-778)."""

from enum import IntEnum
from typing import Final

from replication.records.metadata.records import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)

METADATA_VERSION_FEATURE: Final = "metadata.version"


class MetadataVersion(IntEnum):
    """The levels of the feature, by Kafka's names for them without its prefix IBP_."""

    V3_0_IV1 = 1
    V3_1_IV0 = 2
    V3_2_IV0 = 3
    """Leaders that recover from an unclean election (KIP-704)."""
    V3_3_IV0 = 4
    V3_3_IV1 = 5
    V3_3_IV2 = 6
    """BrokerRegistrationChangeRecord in place of FenceBrokerRecord and UnfenceBrokerRecord."""
    V3_3_IV3 = 7
    """Controlled shutdown in the records (KIP-841). Kafka 4 starts here."""
    V3_4_IV0 = 8
    """The move from ZooKeeper (KIP-866)."""
    V3_5_IV0 = 9
    V3_5_IV1 = 10
    V3_5_IV2 = 11
    """SCRAM (KIP-900)."""
    V3_6_IV0 = 12
    """The leader epoch stays where the controller shrinks an ISR."""
    V3_6_IV1 = 13
    """Transactions of metadata (KIP-868)."""
    V3_6_IV2 = 14
    """Delegation tokens."""
    V3_7_IV0 = 15
    """Controllers register (KIP-919)."""
    V3_7_IV1 = 16
    V3_7_IV2 = 17
    """Replicas are assigned to directories (KIP-858)."""
    V3_7_IV3 = 18
    V3_7_IV4 = 19
    V3_8_IV0 = 20
    V3_9_IV0 = 21
    V4_0_IV0 = 22
    V4_0_IV1 = 23
    """Eligible leader replicas (KIP-966)."""
    V4_0_IV2 = 24
    V4_0_IV3 = 25
    V4_1_IV0 = 26
    V4_1_IV1 = 27
    V4_2_IV0 = 28
    V4_2_IV1 = 29
    V4_3_IV0 = 30
    """Cordoned directories."""
    V4_4_IV0 = 31
    V4_4_IV1 = 32
    """The host of an access control entry may be a range of addresses."""
    V4_4_IV2 = 33
    """Controllers may be unregistered."""

    @property
    def told(self) -> str:
        """As Kafka's tools name it: 3.9-IV0."""
        return self.name[1:].replace("_IV", "-IV").replace("_", ".")


LATEST_METADATA_VERSION: Final = MetadataVersion.V4_4_IV2

_PARTITIONS: Final = ((MetadataVersion.V4_0_IV1, 2), (MetadataVersion.V3_7_IV2, 1))
_RECORD_VERSIONS: Final[dict[type[MetadataRecord], tuple[tuple[MetadataVersion, int], ...]]] = {
    RegisterBrokerRecord: (
        (MetadataVersion.V4_3_IV0, 4),
        (MetadataVersion.V3_7_IV2, 3),
        (MetadataVersion.V3_4_IV0, 2),
        (MetadataVersion.V3_3_IV3, 1),
    ),
    PartitionRecord: _PARTITIONS,
    PartitionChangeRecord: _PARTITIONS,
}
"""From which level on which version is written; all other types have version 0 alone."""


def record_version(record: MetadataRecord, metadata_version: int = LATEST_METADATA_VERSION) -> int:
    """Return the version in which Kafka writes a record at a level of the feature.

    A BrokerRegistrationChangeRecord is written in the lowest version that can say what it says, whatever the level.
    """
    if isinstance(record, BrokerRegistrationChangeRecord):
        return _lowest_version(record)
    for level, version in _RECORD_VERSIONS.get(type(record), ()):
        if metadata_version >= level:
            return version
    return 0


def _lowest_version(change: BrokerRegistrationChangeRecord) -> int:
    if change.cordoned_log_dirs is not None:
        return 3
    if change.log_dirs:
        return 2
    return 1 if change.in_controlled_shutdown else 0
