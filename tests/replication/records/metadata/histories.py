"""Random histories of a cluster: records that follow from each other, as controllers write them."""

import random
from collections.abc import Callable, Iterator
from uuid import UUID

from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.metadata_version import (
    LATEST_METADATA_VERSION,
    METADATA_VERSION_FEATURE,
    MetadataVersion,
)
from replication.records.metadata.records import (
    NO_LEADER,
    NO_LEADER_CHANGE,
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    Endpoint,
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
    SupportedFeature,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
    UserScramCredentialRecord,
)

BROKERS = range(1, 7)


class History:
    """Makes one record after the other, and replays each into `image`."""

    def __init__(self, chance: random.Random, level: int = LATEST_METADATA_VERSION) -> None:
        """Begin as all clusters do: with a level of `metadata.version`."""
        self.image = ClusterImage()
        self.records: list[MetadataRecord] = []
        self._chance = chance
        self._level = level
        self._add(FeatureLevelRecord(name=METADATA_VERSION_FEATURE, feature_level=level))

    def go_on(self, steps: int) -> None:
        """Make so many changes."""
        for _ in range(steps):
            kind = self._chance.choice(_KINDS)
            for record in kind(self):
                self._add(record)

    def _add(self, record: MetadataRecord) -> None:
        self.records.append(record)
        self.image.replay(record)

    def _uuid(self) -> UUID:
        return UUID(int=self._chance.getrandbits(128))

    def _uuids(self, count: int) -> tuple[UUID, ...]:
        return tuple(self._uuid() for _ in range(count))

    def _some(self) -> tuple[int, ...]:
        return tuple(self._chance.sample(BROKERS, self._chance.randrange(4)))

    def _replicas(self) -> tuple[int, ...]:
        return tuple(self._chance.sample(BROKERS, self._chance.randrange(1, 4)))

    def _maybe_some(self) -> tuple[int, ...] | None:
        return self._some() if self._chance.random() < 0.3 else None

    def _endpoints(self) -> tuple[Endpoint, ...]:
        names = self._chance.sample(("PLAINTEXT", "SSL", "INNER"), self._chance.randrange(1, 4))
        return tuple(
            Endpoint(
                name=name,
                host=f"host-{self._chance.randrange(3)}",
                port=self._chance.getrandbits(16),
                security_protocol=self._chance.randrange(4),
            )
            for name in names
        )

    def _features(self) -> tuple[SupportedFeature, ...]:
        low = self._chance.randrange(8)
        known = SupportedFeature(name=METADATA_VERSION_FEATURE, min_supported_version=low, max_supported_version=30)
        return (known,) if self._chance.random() < 0.8 else ()

    def register_broker(self) -> Iterator[MetadataRecord]:
        yield RegisterBrokerRecord(
            broker_id=self._chance.choice(BROKERS),
            is_migrating_zk_broker=self._chance.random() < 0.2,
            incarnation_id=self._uuid(),
            broker_epoch=len(self.records),
            end_points=self._endpoints(),
            features=self._features(),
            rack=self._chance.choice((None, "", "a")),
            fenced=self._chance.random() < 0.5,
            in_controlled_shutdown=self._chance.random() < 0.2,
            log_dirs=self._uuids(self._chance.randrange(3)),
            cordoned_log_dirs=self._uuids(self._chance.randrange(2)) if self._chance.random() < 0.5 else None,
        )

    def change_broker(self) -> Iterator[MetadataRecord]:
        for broker in self._chance.sample(list(self.image.brokers.values()), min(1, len(self.image.brokers))):
            kind = self._chance.randrange(6)
            if kind == 0:
                yield FenceBrokerRecord(id=broker.id, epoch=broker.epoch)
            elif kind == 1:
                yield UnfenceBrokerRecord(id=broker.id, epoch=broker.epoch)
            elif kind == 2:
                yield UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch)
            else:
                yield BrokerRegistrationChangeRecord(
                    broker_id=broker.id,
                    broker_epoch=broker.epoch,
                    fenced=self._chance.choice((-1, 0, 1)),
                    in_controlled_shutdown=self._chance.choice((0, 0, 1)),
                    log_dirs=self._uuids(self._chance.randrange(3)),
                    cordoned_log_dirs=self._uuids(self._chance.randrange(2)) if self._chance.random() < 0.5 else None,
                )

    def change_controller(self) -> Iterator[MetadataRecord]:
        controller_id = self._chance.randrange(100, 103)
        if self._level >= MetadataVersion.V4_4_IV2 and self._chance.random() < 0.3:
            yield UnregisterControllerRecord(controller_id=controller_id)
            return
        yield RegisterControllerRecord(
            controller_id=controller_id,
            incarnation_id=self._uuid(),
            zk_migration_ready=self._chance.random() < 0.5,
            end_points=self._endpoints(),
            features=self._features(),
        )

    def create_topic(self) -> Iterator[MetadataRecord]:
        name = f"topic-{self._chance.randrange(8)}"
        if name in self.image.topics.by_name:
            return
        topic_id = self._uuid()
        yield TopicRecord(name=name, topic_id=topic_id)
        for number in range(self._chance.randrange(4)):
            yield self._partition(topic_id, number)

    def _partition(self, topic_id: UUID, number: int) -> PartitionRecord:
        replicas = self._replicas()
        return PartitionRecord(
            partition_id=number,
            topic_id=topic_id,
            replicas=replicas,
            isr=self._some(),
            removing_replicas=self._some(),
            adding_replicas=self._some(),
            leader=self._chance.choice((NO_LEADER, *BROKERS)),
            leader_recovery_state=self._chance.randrange(2),
            leader_epoch=self._chance.randrange(9),
            partition_epoch=self._chance.randrange(9),
            directories=self._uuids(len(replicas)) if self._chance.random() < 0.7 else (),
            eligible_leader_replicas=self._maybe_some(),
            last_known_elr=self._maybe_some(),
        )

    def change_partition(self) -> Iterator[MetadataRecord]:
        places = [(topic.id, number, state) for topic, number, state in self.image.topics.partitions()]
        for topic_id, number, state in self._chance.sample(places, min(2, len(places))):
            replicas = self._replicas() if self._chance.random() < 0.3 else None
            directories = self._uuids(len(replicas or state.replicas))
            told = self._chance.random() < 0.3 or (replicas is not None and any(each.int for each in state.directories))
            yield PartitionChangeRecord(
                partition_id=number,
                topic_id=topic_id,
                isr=self._maybe_some(),
                leader=self._chance.choice((NO_LEADER_CHANGE, NO_LEADER, *BROKERS)),
                replicas=replicas,
                removing_replicas=self._maybe_some(),
                adding_replicas=self._maybe_some(),
                leader_recovery_state=self._chance.choice((-1, 0, 1)),
                directories=directories if told else None,
                eligible_leader_replicas=self._maybe_some(),
                last_known_elr=self._maybe_some(),
            )

    def remove_topic(self) -> Iterator[MetadataRecord]:
        if len(self.image.topics) > 3:
            yield RemoveTopicRecord(topic_id=self._chance.choice([topic.id for topic in self.image.topics]))

    def clear_elr(self) -> Iterator[MetadataRecord]:
        yield ClearElrRecord(topic_name=self._chance.choice(["", *self.image.topics.by_name]))

    def configure(self) -> Iterator[MetadataRecord]:
        yield ConfigRecord(
            resource_type=self._chance.choice((ConfigResourceType.TOPIC, ConfigResourceType.BROKER)),
            resource_name=self._chance.choice(["", "1", *self.image.topics.by_name]),
            name=self._chance.choice(("retention.ms", "cleanup.policy")),
            value=self._chance.choice((None, "", "1000")),
        )

    def finalize_feature(self) -> Iterator[MetadataRecord]:
        name = self._chance.choice(("group.version", "transaction.version", "share.version"))
        yield FeatureLevelRecord(name=name, feature_level=self._chance.randrange(3))

    def limit_clients(self) -> Iterator[MetadataRecord]:
        types = self._chance.sample(("user", "client-id", "ip"), self._chance.randrange(1, 3))
        entity = tuple(QuotaEntity(entity_type=each, entity_name=self._chance.choice((None, "x"))) for each in types)
        yield ClientQuotaRecord(
            entity=entity,
            key=self._chance.choice(("producer_byte_rate", "request_percentage")),
            value=self._chance.choice((0.5, 1e9)),
            remove=self._chance.random() < 0.3,
        )

    def give_producer_ids(self) -> Iterator[MetadataRecord]:
        first = self.image.next_producer_id + 1000
        yield ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=first)

    def change_access(self) -> Iterator[MetadataRecord]:
        known = list(self.image.access_control_entries)
        if known and self._chance.random() < 0.4:
            yield RemoveAccessControlEntryRecord(id=self._chance.choice(known))
            return
        yield AccessControlEntryRecord(
            id=self._uuid(),
            resource_type=2,
            resource_name=f"topic-{self._chance.randrange(5)}",
            pattern_type=self._chance.choice((3, 4)),
            principal="User:alice",
            host="*",
            operation=self._chance.choice((3, 4)),
            permission_type=self._chance.choice((2, 3)),
        )

    def change_credential(self) -> Iterator[MetadataRecord]:
        known = list(self.image.scram_credentials)
        if known and self._chance.random() < 0.4:
            mechanism, name = self._chance.choice(known)
            yield RemoveUserScramCredentialRecord(name=name, mechanism=mechanism)
            return
        yield UserScramCredentialRecord(
            name=self._chance.choice(("alice", "bob")),
            mechanism=self._chance.choice((1, 2)),
            salt=self._chance.randbytes(4),
            stored_key=self._chance.randbytes(8),
            server_key=self._chance.randbytes(8),
            iterations=4096,
        )

    def change_token(self) -> Iterator[MetadataRecord]:
        known = list(self.image.delegation_tokens)
        if known and self._chance.random() < 0.4:
            yield RemoveDelegationTokenRecord(token_id=self._chance.choice(known))
            return
        yield DelegationTokenRecord(
            owner="User:alice",
            requester="User:bob",
            renewers=("User:carol",)[: self._chance.randrange(2)],
            issue_timestamp=1,
            max_timestamp=3,
            expiration_timestamp=self._chance.randrange(2, 4),
            token_id=str(self._chance.randrange(4)),
        )

    def do_nothing(self) -> Iterator[MetadataRecord]:
        yield NoOpRecord()


_KINDS: list[Callable[[History], Iterator[MetadataRecord]]] = [
    History.register_broker,
    History.change_broker,
    History.change_broker,
    History.change_controller,
    History.create_topic,
    History.change_partition,
    History.change_partition,
    History.change_partition,
    History.remove_topic,
    History.clear_elr,
    History.configure,
    History.finalize_feature,
    History.limit_clients,
    History.give_producer_ids,
    History.change_access,
    History.change_credential,
    History.change_token,
    History.do_nothing,
]


def history(seed: object, steps: int, level: int = LATEST_METADATA_VERSION) -> History:
    """Make a history that a seed repeats."""
    made = History(random.Random(str(seed)), level)
    made.go_on(steps)
    return made
