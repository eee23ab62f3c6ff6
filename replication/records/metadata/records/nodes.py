"""Records of brokers and controllers that come, change and go."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final
from uuid import UUID

from replication.records.codec.codec import Since, Structs, Tag
from replication.records.codec.fields import (
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    OptionalString,
    OptionalUuids,
    String,
    UInt16,
    Uuid,
    Uuids,
)
from replication.records.metadata.records.record import MetadataRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a node listens."""

    name: String
    """Of the listener, such as PLAINTEXT."""
    host: String
    port: UInt16
    security_protocol: Int16 = 0
    """0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportedFeature:
    """The levels of a feature that a node can work at, both ends included (KIP-584)."""

    name: String
    min_supported_version: Int16
    max_supported_version: Int16


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecord(MetadataRecord):
    """A broker has registered, as a new incarnation of itself."""

    API_KEY: ClassVar[int] = 0
    LATEST_VERSION: ClassVar[int] = 4

    broker_id: Int32
    is_migrating_zk_broker: Annotated[Bool, Since(2)] = False
    """A broker of a cluster that moves from ZooKeeper to KRaft (KIP-866)."""
    incarnation_id: Uuid
    """New with each start of the process."""
    broker_epoch: Int64
    end_points: Annotated[tuple[Endpoint, ...], Structs(Endpoint)] = ()
    features: Annotated[tuple[SupportedFeature, ...], Structs(SupportedFeature)] = ()
    rack: OptionalString = None
    fenced: Bool = True
    in_controlled_shutdown: Annotated[Bool, Since(1)] = False
    """KIP-841."""
    log_dirs: Annotated[Uuids, Since(3), Tag(0)] = ()
    """The directories that work (KIP-858)."""
    cordoned_log_dirs: Annotated[OptionalUuids, Since(4), Tag(1)] = None
    """Directories that get no new replicas; None until the broker has reported them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerRecord(MetadataRecord):
    """A broker is gone for good."""

    API_KEY: ClassVar[int] = 1

    broker_id: Int32
    broker_epoch: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceBrokerRecord(MetadataRecord):
    """A broker is fenced; BrokerRegistrationChangeRecord says so since metadata.version 3.3-IV2."""

    API_KEY: ClassVar[int] = 7

    id: Int32
    epoch: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfenceBrokerRecord(MetadataRecord):
    """A broker may serve; BrokerRegistrationChangeRecord says so since metadata.version 3.3-IV2."""

    API_KEY: ClassVar[int] = 8

    id: Int32
    epoch: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecord(MetadataRecord):
    """Something about a registered broker has changed; what has its default has not."""

    API_KEY: ClassVar[int] = 17
    LATEST_VERSION: ClassVar[int] = 3

    FENCE: ClassVar[int] = 1
    UNFENCE: ClassVar[int] = -1
    IN_CONTROLLED_SHUTDOWN: ClassVar[int] = 1

    broker_id: Int32
    broker_epoch: Int64
    fenced: Annotated[Int8, Tag(0)] = 0
    """FENCE, UNFENCE or 0."""
    in_controlled_shutdown: Annotated[Int8, Since(1), Tag(1)] = 0
    """IN_CONTROLLED_SHUTDOWN or 0 (KIP-841)."""
    log_dirs: Annotated[Uuids, Since(2), Tag(2)] = ()
    """The directories that still work, or () (KIP-858)."""
    cordoned_log_dirs: Annotated[OptionalUuids, Since(3), Tag(3)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterControllerRecord(MetadataRecord):
    """A controller has registered (KIP-919)."""

    API_KEY: ClassVar[int] = 27

    controller_id: Int32
    incarnation_id: Uuid
    zk_migration_ready: Bool = False
    end_points: Annotated[tuple[Endpoint, ...], Structs(Endpoint)] = ()
    features: Annotated[tuple[SupportedFeature, ...], Structs(SupportedFeature)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterControllerRecord(MetadataRecord):
    """A controller is gone for good. New in Kafka 4.4; one that is not registered may be named too."""

    API_KEY: ClassVar[int] = 29

    controller_id: Int32


MIGRATING_DIRECTORY: Final = UUID(int=0)
"""Stands for the directory of a replica placed before directories had ids (Kafka: DirectoryId.MIGRATING)."""
UNASSIGNED_DIRECTORY: Final = UUID(int=1)
"""The broker has yet to say where it keeps the replica (Kafka: DirectoryId.UNASSIGNED)."""
LOST_DIRECTORY: Final = UUID(int=2)
"""A directory that the broker has lost (Kafka: DirectoryId.LOST)."""
