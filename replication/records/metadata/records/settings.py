"""Records of what administrators set, and of what the cluster counts."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from replication.records.codec.codec import Structs
from replication.records.codec.fields import Bool, Float64, Int8, Int16, Int32, Int64, OptionalString, String
from replication.records.metadata.records.record import MetadataRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLevelRecord(MetadataRecord):
    """A feature is finalized at a level, 0 for not at all (KIP-584)."""

    API_KEY: ClassVar[int] = 12

    name: String
    feature_level: Int16


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRecord(MetadataRecord):
    """A setting of a resource has a value, or no longer one of its own."""

    API_KEY: ClassVar[int] = 4

    resource_type: Int8
    """A ConfigResourceType."""
    resource_name: String
    """A topic, or a broker's id; empty for the default of all brokers."""
    name: String
    value: OptionalString
    """None where the default applies again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaEntity:
    """A part of whom a quota binds: a user, a client id, an address."""

    entity_type: String
    entity_name: OptionalString = None
    """None for all that have no quota of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientQuotaRecord(MetadataRecord):
    """A quota of some clients has a value, or none any more (KIP-546)."""

    API_KEY: ClassVar[int] = 14

    entity: Annotated[tuple[QuotaEntity, ...], Structs(QuotaEntity)]
    key: String
    value: Float64 = 0.0
    remove: Bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerIdsRecord(MetadataRecord):
    """A block of producer ids has been given to a broker (KIP-730)."""

    API_KEY: ClassVar[int] = 15

    broker_id: Int32
    broker_epoch: Int64 = -1
    next_producer_id: Int64
    """The first of the block that comes next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZkMigrationStateRecord(MetadataRecord):
    """How far the move from ZooKeeper has come (KIP-866)."""

    API_KEY: ClassVar[int] = 21

    zk_migration_state: Int8
