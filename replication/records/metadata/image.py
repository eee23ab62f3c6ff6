"""All that a cluster knows of itself at one offset of its metadata (Kafka: MetadataImage)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from replication.records.metadata.configurations import ConfigResource, ConfigResourceType, Configurations
from replication.records.metadata.errors import InvalidReplayError
from replication.records.metadata.metadata_version import METADATA_VERSION_FEATURE, MetadataVersion
from replication.records.metadata.nodes import BrokerRegistration, ControllerRegistration
from replication.records.metadata.read_only import read_only
from replication.records.metadata.records import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    QuotaEntity,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)
from replication.records.metadata.topics import Topics

_HOLE_ADVICE: Final = "the log has a hole or is another cluster's; `epochlog verify` finds where a log is damaged"


@dataclass
class ClusterImage:
    """What replaying the records of a metadata log gives. Two images are equal where they say the same.

    >>> image = ClusterImage()
    >>> for batch in committed(read_metadata("__cluster_metadata-0")):
    ...     image.replay_all(batch.records)
    >>> image.topics.by_name["orders"].partitions[0].leader
    """

    features: dict[str, int] = field(default_factory=dict)
    """The finalized level of each feature by name; those at level 0 are left out."""
    brokers: dict[int, BrokerRegistration] = field(default_factory=dict)
    controllers: dict[int, ControllerRegistration] = field(default_factory=dict)
    topics: Topics = field(default_factory=Topics)
    configurations: Configurations = field(default_factory=Configurations)
    client_quotas: dict[frozenset[QuotaEntity], dict[str, float]] = field(default_factory=dict)
    """For each kind of client what limits it, by name."""
    next_producer_id: int = 0
    """The first of the next block that a broker gets."""
    access_control_entries: dict[UUID, AccessControlEntryRecord] = field(default_factory=dict)
    scram_credentials: dict[tuple[int, str], UserScramCredentialRecord] = field(default_factory=dict)
    """By mechanism and user."""
    delegation_tokens: dict[str, DelegationTokenRecord] = field(default_factory=dict)
    zk_migration_state: int = 0
    is_frozen: bool = field(default=False, compare=False, repr=False)
    """Whether nothing changes it any more: any thread may read it."""

    @property
    def metadata_version(self) -> int:
        """The finalized level of `metadata.version`; a log that says none is of Kafka 3.0 to 3.2."""
        return self.features.get(METADATA_VERSION_FEATURE, MetadataVersion.V3_0_IV1)

    def replay(self, record: MetadataRecord) -> None:
        """Change the image as a record says.

        Records about other records (transactions) must be taken out before (`committed`). Raises InvalidReplayError,
        with nothing changed, where the record does not follow from those before it, and TypeError for a frozen image.
        """
        if self.is_frozen:
            raise TypeError("a frozen image cannot change: replay records into the image that it was made from")
        try:
            self._replay(record)
        except (LookupError, ValueError) as error:
            raise InvalidReplayError(
                f"{record.type_name()} does not follow from the records before it: {error}", advice=_HOLE_ADVICE
            ) from error

    def replay_all(self, records: Iterable[MetadataRecord]) -> None:
        """Replay records in order. Raises what `replay` raises, with those before replayed."""
        for record in records:
            self.replay(record)

    def frozen(self) -> "ClusterImage":
        """Return a copy that nothing changes any more, whatever is replayed into this one afterwards.

        The two share what is the same in both.
        """
        return replace(
            self,
            features=read_only(dict(self.features)),
            brokers=read_only(dict(self.brokers)),
            controllers=read_only(dict(self.controllers)),
            topics=self.topics.frozen(),
            configurations=self.configurations.frozen(),
            client_quotas=read_only(dict(self.client_quotas)),
            access_control_entries=read_only(dict(self.access_control_entries)),
            scram_credentials=read_only(dict(self.scram_credentials)),
            delegation_tokens=read_only(dict(self.delegation_tokens)),
            is_frozen=True,
        )

    def records(self) -> Iterator[MetadataRecord]:
        """Give the records that make this image from an empty one, in the order of Kafka's snapshots."""
        level = self.metadata_version
        if METADATA_VERSION_FEATURE in self.features:
            yield FeatureLevelRecord(name=METADATA_VERSION_FEATURE, feature_level=level)
        for name, feature_level in self.features.items():
            if name != METADATA_VERSION_FEATURE:
                yield FeatureLevelRecord(name=name, feature_level=feature_level)
        if self.zk_migration_state:
            yield ZkMigrationStateRecord(zk_migration_state=self.zk_migration_state)
        yield from (broker.record(level) for broker in self.brokers.values())
        yield from (controller.record() for controller in self.controllers.values())
        for topic in self.topics:
            yield TopicRecord(name=topic.name, topic_id=topic.id)
            yield from (state.record(topic.id, number, level) for number, state in topic.partitions.items())
        yield from self.configurations.records()
        for entity, limits in self.client_quotas.items():
            parts = tuple(sorted(entity, key=lambda part: part.entity_type))
            yield from (ClientQuotaRecord(entity=parts, key=key, value=value) for key, value in limits.items())
        if self.next_producer_id:
            yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=self.next_producer_id)
        yield from self.access_control_entries.values()
        yield from self.scram_credentials.values()
        yield from self.delegation_tokens.values()

    def _replay(self, record: MetadataRecord) -> None:
        match record:
            case PartitionChangeRecord():
                self.topics.change_partition(record)
            case PartitionRecord():
                self.topics.add_partition(record)
            case TopicRecord():
                self.topics.add(record)
            case RemoveTopicRecord():
                removed = self.topics.remove(record.topic_id)
                self.configurations.remove(ConfigResource(ConfigResourceType.TOPIC, removed.name))
            case ClearElrRecord():
                self.topics.clear_elr(record.topic_name)
            case NoOpRecord():
                pass
            case ConfigRecord():
                self.configurations.replay(record)
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
            case FeatureLevelRecord(feature_level=0):
                self.features.pop(record.name, None)
            case FeatureLevelRecord():
                self.features[record.name] = record.feature_level
            case ClientQuotaRecord():
                self._limit_clients(record)
            case ZkMigrationStateRecord():
                self.zk_migration_state = record.zk_migration_state
            case _:
                self._replay_node(record)

    def _replay_node(self, record: MetadataRecord) -> None:
        match record:
            case BrokerRegistrationChangeRecord():
                broker = self._registered(record.broker_id, record.broker_epoch)
                self.brokers[record.broker_id] = broker.changed(record)
            case RegisterBrokerRecord():
                self.brokers[record.broker_id] = BrokerRegistration.of(record)
            case UnregisterBrokerRecord():
                self._registered(record.broker_id, record.broker_epoch)
                del self.brokers[record.broker_id]
            case FenceBrokerRecord():
                self.brokers[record.id] = self._registered(record.id, record.epoch).with_fenced(fenced=True)
            case UnfenceBrokerRecord():
                self.brokers[record.id] = self._registered(record.id, record.epoch).with_fenced(fenced=False)
            case RegisterControllerRecord():
                self.controllers[record.controller_id] = ControllerRegistration.of(record)
            case UnregisterControllerRecord():
                self.controllers.pop(record.controller_id, None)
            case _:
                self._replay_security(record)

    def _replay_security(self, record: MetadataRecord) -> None:
        match record:
            case AccessControlEntryRecord():
                self.access_control_entries[record.id] = record
            case RemoveAccessControlEntryRecord():
                _remove(self.access_control_entries, record.id, "access control entry")
            case UserScramCredentialRecord():
                self.scram_credentials[record.mechanism, record.name] = record
            case RemoveUserScramCredentialRecord():
                _remove(self.scram_credentials, (record.mechanism, record.name), "SCRAM credential")
            case DelegationTokenRecord():
                self.delegation_tokens[record.token_id] = record
            case RemoveDelegationTokenRecord():
                _remove(self.delegation_tokens, record.token_id, "delegation token")
            case _:
                raise ValueError("it concerns other records and is not part of an image")

    def _registered(self, broker_id: int, epoch: int) -> BrokerRegistration:
        broker = self.brokers.get(broker_id)
        if broker is None:
            raise LookupError(f"broker {broker_id} is not registered")
        if broker.epoch != epoch:
            raise ValueError(f"broker {broker_id} is registered in epoch {broker.epoch}, not {epoch}")
        return broker

    def _limit_clients(self, record: ClientQuotaRecord) -> None:
        entity = frozenset(record.entity)
        # A new mapping each time: a frozen copy may share the one before.
        limits = {**self.client_quotas.get(entity, {})}
        if record.remove:
            limits.pop(record.key, None)
        else:
            limits[record.key] = record.value
        if limits:
            self.client_quotas[entity] = limits
        else:
            self.client_quotas.pop(entity, None)


def _remove(known: dict[Any, Any], key: object, what: str) -> None:
    if known.pop(key, None) is None:
        raise LookupError(f"there is no {what} {key}")
