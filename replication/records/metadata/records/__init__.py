"""The records of `__cluster_metadata`, under Kafka's names, with Kafka's fields.

Records are frozen: `PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=2)`. Lists are tuples. A field that
a version lacks has its default when it is read.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from replication.records.metadata.records.nodes import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    BrokerRegistrationChangeRecord,
    Endpoint,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    SupportedFeature,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
)
from replication.records.metadata.records.record import MetadataRecord
from replication.records.metadata.records.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from replication.records.metadata.records.settings import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    QuotaEntity,
    ZkMigrationStateRecord,
)
from replication.records.metadata.records.topics import (
    NO_LEADER,
    NO_LEADER_CHANGE,
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from replication.records.metadata.records.transactions import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    NoOpRecord,
)

_TYPES: Final[tuple[type[MetadataRecord], ...]] = (
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
    TopicRecord,
    PartitionRecord,
    ConfigRecord,
    PartitionChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    RemoveTopicRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
    FeatureLevelRecord,
    ClientQuotaRecord,
    ProducerIdsRecord,
    BrokerRegistrationChangeRecord,
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    NoOpRecord,
    ZkMigrationStateRecord,
    RemoveUserScramCredentialRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    AbortTransactionRecord,
    RemoveDelegationTokenRecord,
    RegisterControllerRecord,
    ClearElrRecord,
    UnregisterControllerRecord,
)
RECORD_TYPES: Final[Mapping[int, type[MetadataRecord]]] = MappingProxyType({kind.API_KEY: kind for kind in _TYPES})
"""All types by API key. Kafka has given 6, 13 and 16 up."""

__all__ = [
    "LOST_DIRECTORY",
    "MIGRATING_DIRECTORY",
    "NO_LEADER",
    "NO_LEADER_CHANGE",
    "RECORD_TYPES",
    "UNASSIGNED_DIRECTORY",
    "AbortTransactionRecord",
    "AccessControlEntryRecord",
    "BeginTransactionRecord",
    "BrokerRegistrationChangeRecord",
    "ClearElrRecord",
    "ClientQuotaRecord",
    "ConfigRecord",
    "DelegationTokenRecord",
    "EndTransactionRecord",
    "Endpoint",
    "FeatureLevelRecord",
    "FenceBrokerRecord",
    "MetadataRecord",
    "NoOpRecord",
    "PartitionChangeRecord",
    "PartitionRecord",
    "ProducerIdsRecord",
    "QuotaEntity",
    "RegisterBrokerRecord",
    "RegisterControllerRecord",
    "RemoveAccessControlEntryRecord",
    "RemoveDelegationTokenRecord",
    "RemoveTopicRecord",
    "RemoveUserScramCredentialRecord",
    "SupportedFeature",
    "TopicRecord",
    "UnfenceBrokerRecord",
    "UnregisterBrokerRecord",
    "UnregisterControllerRecord",
    "UserScramCredentialRecord",
    "ZkMigrationStateRecord",
]
