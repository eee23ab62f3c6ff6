"""Brokers and controllers as the metadata has them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self
from uuid import UUID

from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION, MetadataVersion
from replication.records.metadata.records import (
    BrokerRegistrationChangeRecord,
    Endpoint,
    FenceBrokerRecord,
    MetadataRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    SupportedFeature,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """A broker that is registered (Kafka: BrokerRegistration)."""

    id: int
    epoch: int
    """Grows with each registration."""
    incarnation_id: UUID
    listeners: Mapping[str, Endpoint]
    """By name."""
    features: Mapping[str, SupportedFeature]
    """By name: the levels that it can work at."""
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    is_migrating_zk_broker: bool = False
    directories: tuple[UUID, ...] = ()
    """The directories that work, in order of their ids."""
    cordoned_directories: tuple[UUID, ...] | None = None
    """Those that get no new replicas; None until the broker has reported them."""

    @classmethod
    def of(cls, record: RegisterBrokerRecord) -> Self:
        """Create it from a record."""
        return cls(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            listeners={each.name: each for each in record.end_points},
            features={each.name: each for each in record.features},
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            is_migrating_zk_broker=record.is_migrating_zk_broker,
            directories=_sorted(record.log_dirs),
            cordoned_directories=_maybe_sorted(record.cordoned_log_dirs),
        )

    @property
    def is_active(self) -> bool:
        """Whether it may be in an ISR: neither fenced nor shutting down."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def takes_replicas(self) -> bool:
        """Whether new replicas may be placed on it: not all of its directories are cordoned."""
        return not self.directories or not set(self.directories) <= set(self.cordoned_directories or ())

    def changed(self, record: BrokerRegistrationChangeRecord) -> Self:
        """Return the registration after a change. Raises ValueError for values that mean nothing."""
        if record.fenced not in {-1, 0, 1} or record.in_controlled_shutdown not in {0, 1}:
            raise ValueError(
                f"fenced is {record.fenced}, of -1, 0 and 1, and in_controlled_shutdown "
                f"{record.in_controlled_shutdown}, of 0 and 1"
            )
        return replace(
            self,
            fenced=record.fenced > 0 if record.fenced else self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown or record.in_controlled_shutdown > 0,
            directories=_sorted(record.log_dirs) if record.log_dirs else self.directories,
            cordoned_directories=(
                self.cordoned_directories if record.cordoned_log_dirs is None else _sorted(record.cordoned_log_dirs)
            ),
        )

    def with_fenced(self, *, fenced: bool) -> Self:
        """Return the registration, fenced or not."""
        return replace(self, fenced=fenced)

    def record(self, metadata_version: int = LATEST_METADATA_VERSION) -> RegisterBrokerRecord:
        """Return the record that says all this, as far as the level of `metadata.version` has words for it."""
        return RegisterBrokerRecord(
            broker_id=self.id,
            is_migrating_zk_broker=self.is_migrating_zk_broker and metadata_version >= MetadataVersion.V3_4_IV0,
            incarnation_id=self.incarnation_id,
            broker_epoch=self.epoch,
            end_points=tuple(self.listeners.values()),
            features=tuple(self.features.values()),
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown and metadata_version >= MetadataVersion.V3_3_IV3,
            log_dirs=self.directories if metadata_version >= MetadataVersion.V3_7_IV2 else (),
            cordoned_log_dirs=self.cordoned_directories if metadata_version >= MetadataVersion.V4_3_IV0 else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRegistration:
    """A controller that is registered (Kafka: ControllerRegistration)."""

    id: int
    incarnation_id: UUID
    zk_migration_ready: bool
    listeners: Mapping[str, Endpoint]
    features: Mapping[str, SupportedFeature]

    @classmethod
    def of(cls, record: RegisterControllerRecord) -> Self:
        """Create it from a record."""
        return cls(
            id=record.controller_id,
            incarnation_id=record.incarnation_id,
            zk_migration_ready=record.zk_migration_ready,
            listeners={each.name: each for each in record.end_points},
            features={each.name: each for each in record.features},
        )

    def record(self) -> RegisterControllerRecord:
        """Return the record that says all this."""
        return RegisterControllerRecord(
            controller_id=self.id,
            incarnation_id=self.incarnation_id,
            zk_migration_ready=self.zk_migration_ready,
            end_points=tuple(self.listeners.values()),
            features=tuple(self.features.values()),
        )


def changed_broker(record: MetadataRecord) -> int | None:
    """Return the broker whose registration a record makes, changes or ends."""
    match record:
        case FenceBrokerRecord() | UnfenceBrokerRecord():
            return record.id
        case RegisterBrokerRecord() | UnregisterBrokerRecord() | BrokerRegistrationChangeRecord():
            return record.broker_id
        case _:
            return None


def _sorted(directories: tuple[UUID, ...]) -> tuple[UUID, ...]:
    return tuple(sorted(directories))


def _maybe_sorted(directories: tuple[UUID, ...] | None) -> tuple[UUID, ...] | None:
    return None if directories is None else _sorted(directories)
