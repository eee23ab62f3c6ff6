"""In what two images differ, as names and plain values: what a cluster would forget that went from one to the other."""

import json
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, TypeVar
from uuid import UUID

from logstore.files.partition_metadata import format_uuid
from logstore.text.record_mask import RecordMask
from replication.records.metadata.configurations import ConfigResource, ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.nodes import BrokerRegistration, ControllerRegistration
from replication.records.metadata.partition import LeaderRecoveryState, PartitionRegistration
from replication.records.metadata.records import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    Endpoint,
    QuotaEntity,
    SupportedFeature,
)
from replication.records.metadata.security_names import access_in_words, mechanism_name, protocol_name
from replication.records.metadata.topics import Topic

HIDDEN: Final = "(hidden)"
"""Stands for a password or a key."""
_SECRET: Final = re.compile(r"password|secret|jaas|\.key$", re.IGNORECASE)
_RESOURCES: Final = {
    ConfigResourceType.TOPIC: "topic",
    ConfigResourceType.BROKER: "broker",
    ConfigResourceType.BROKER_LOGGER: "logger of broker",
    ConfigResourceType.CLIENT_METRICS: "client metrics",
    ConfigResourceType.GROUP: "group",
}

_ANY: Final = UUID(int=0)
_Key = TypeVar("_Key", bound=Hashable)
_Values = dict[str, Any]


class Subject(StrEnum):
    """What a difference is about."""

    TOPIC = "topic"
    PARTITION = "partition"
    CONFIGURATION = "configuration"
    ACCESS_CONTROL_ENTRY = "access control entry"
    SCRAM_CREDENTIAL = "SCRAM credential"
    DELEGATION_TOKEN = "delegation token"  # noqa: S105  the name of what it is about
    CLIENT_QUOTA = "client quota"
    FEATURE = "feature"
    BROKER = "broker"
    CONTROLLER = "controller"
    PRODUCER_IDS = "producer ids"
    MIGRATION = "migration from ZooKeeper"


_PUBLIC: Final = frozenset({Subject.TOPIC, Subject.PARTITION, Subject.FEATURE, Subject.PRODUCER_IDS, Subject.MIGRATION})
"""Of which no mask takes anything: names of topics, numbers and ids."""
_NODES: Final = frozenset({Subject.BROKER, Subject.CONTROLLER})
"""Whose names are numbers."""


class Change(StrEnum):
    """What became of it."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that two images say differently."""

    subject: Subject
    name: str
    before: Mapping[str, Any] | None
    """None where it is in the other image alone; of what is in both, the values that differ."""
    after: Mapping[str, Any] | None

    @property
    def change(self) -> Change:
        """What becomes of it on the way from the one image to the other."""
        if self.before is None:
            return Change.ADDED
        return Change.REMOVED if self.after is None else Change.CHANGED

    def masked(self, mask: RecordMask) -> "Difference":
        """Return the difference with its texts masked where values are, as records of the metadata consist of them.

        Topics, their partitions and features stay, and so do numbers of nodes and names of settings.
        """
        if not mask.values or self.subject in _PUBLIC:
            return self
        name = self.name if self.subject in _NODES else _masked_text(self.name, mask)
        return replace(self, name=name, before=_masked(self.before, mask), after=_masked(self.after, mask))

    def as_json(self) -> dict[str, Any]:
        """Return the difference as `--json` prints it."""
        return {
            "subject": self.subject.value,
            "name": self.name,
            "change": self.change.value,
            "before": None if self.before is None else dict(self.before),
            "after": None if self.after is None else dict(self.after),
        }


def _masked(values: Mapping[str, Any] | None, mask: RecordMask) -> Mapping[str, Any] | None:
    if values is None:
        return None
    texts = {name: json.dumps(value) for name, value in values.items() if not _is_number(value)}
    return {**values, **{name: _masked_text(text, mask) for name, text in texts.items()}}


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, (int, float))


def _masked_text(text: str, mask: RecordMask) -> str:
    return mask.masked(text.encode(errors="surrogateescape")).decode()


def image_differences(before: ClusterImage, after: ClusterImage) -> Iterator[Difference]:
    """Give what one image says and another does not, by subject and name.

    A topic that only one of them has stands for its partitions and its settings too; so does one that was deleted and
    created again under its name, which is `changed` and has another id. Passwords and keys are HIDDEN.

    >>> for each in image_differences(load_image("a").image, load_image("b").image):
    ...     print(each.subject, each.name, each.change)
    """
    shared = _same_topics(before, after)
    yield from _of(Subject.TOPIC, _topics(before), _topics(after))
    yield from _of(Subject.PARTITION, _partitions(before, shared), _partitions(after, shared))
    alone = (before.topics.by_name.keys() | after.topics.by_name.keys()) - shared
    yield from _of(Subject.CONFIGURATION, _settings(before, alone), _settings(after, alone), _resource_name)
    yield from _of(Subject.ACCESS_CONTROL_ENTRY, _access(before), _access(after), access_in_words)
    yield from _of_credentials(before, after)
    yield from _of(Subject.DELEGATION_TOKEN, _tokens(before), _tokens(after))
    yield from _of(Subject.CLIENT_QUOTA, _quotas(before), _quotas(after), entity_name)
    yield from _of(Subject.FEATURE, _features(before), _features(after))
    yield from _of(Subject.BROKER, _brokers(before), _brokers(after))
    yield from _of(Subject.CONTROLLER, _controllers(before), _controllers(after))
    yield from _of(Subject.PRODUCER_IDS, _producer_ids(before), _producer_ids(after))
    yield from _of(Subject.MIGRATION, _migration(before), _migration(after))


def _of(
    subject: Subject, before: Mapping[_Key, _Values], after: Mapping[_Key, _Values], name: Callable[[_Key], str] = str
) -> Iterator[Difference]:
    for key in sorted(before.keys() | after.keys(), key=lambda key: _in_order(name(key))):
        was, now = before.get(key), after.get(key)
        if was is None or now is None:
            yield Difference(subject, name(key), was, now)
        elif was != now:
            differing = [each for each in {**was, **now} if was.get(each) != now.get(each)]
            yield Difference(
                subject,
                name(key),
                {each: was.get(each) for each in differing},
                {each: now.get(each) for each in differing},
            )


def _in_order(name: str) -> list[tuple[int, str]]:
    """Sort names with numbers in them by the numbers: orders-9 comes before orders-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _same_topics(before: ClusterImage, after: ClusterImage) -> set[str]:
    topics = after.topics.by_name
    return {topic.name for topic in before.topics if topic.name in topics and topics[topic.name].id == topic.id}


def _topics(image: ClusterImage) -> dict[str, _Values]:
    return {topic.name: {"topic_id": format_uuid(topic.id)} | _size(topic) for topic in image.topics}


def _size(topic: Topic) -> _Values:
    return {"partitions": len(topic.partitions)}


def _partitions(image: ClusterImage, topics: set[str]) -> dict[str, _Values]:
    return {
        f"{topic.name}-{number}": _partition(state)
        for topic, number, state in image.topics.partitions()
        if topic.name in topics
    }


def _partition(state: PartitionRegistration) -> _Values:
    return {
        "leader": state.leader if state.has_leader else None,
        "leader_epoch": state.leader_epoch,
        "isr": sorted(state.isr),
        "replicas": list(state.replicas),
        "adding_replicas": list(state.adding_replicas),
        "removing_replicas": list(state.removing_replicas),
        "elr": sorted(state.elr),
        "last_known_elr": list(state.last_known_elr),
        "is_recovering": state.leader_recovery_state == LeaderRecoveryState.RECOVERING,
        "directories": [format_uuid(directory) for directory in state.directories],
        "partition_epoch": state.partition_epoch,
    }


def _settings(image: ClusterImage, left_out: set[str]) -> dict[ConfigResource, _Values]:
    return {
        resource: {name: HIDDEN if _SECRET.search(name) else value for name, value in sorted(settings.items())}
        for resource, settings in image.configurations.by_resource.items()
        if resource.type != ConfigResourceType.TOPIC or resource.name not in left_out
    }


def _resource_name(resource: ConfigResource) -> str:
    try:
        kind = _RESOURCES[ConfigResourceType(resource.type)]
    except ValueError:
        kind = f"resource of type {resource.type}"
    return f"{kind} {resource.name}" if resource.name else f"every {kind}"


def _access(image: ClusterImage) -> dict[AccessControlEntryRecord, _Values]:
    """By what they say: an entry that was made again, under another id, allows the same."""
    entries = (replace(entry, id=_ANY) for entry in image.access_control_entries.values())
    return {entry: {"principal": entry.principal, "resource": entry.resource_name} for entry in entries}


def _of_credentials(before: ClusterImage, after: ClusterImage) -> Iterator[Difference]:
    yield from _of(Subject.SCRAM_CREDENTIAL, _credentials(before), _credentials(after), _credential_name)
    for key in sorted(before.scram_credentials.keys() & after.scram_credentials.keys()):
        was, now = before.scram_credentials[key], after.scram_credentials[key]
        if was != now and was.iterations == now.iterations:
            hidden = {"credential": HIDDEN}
            yield Difference(Subject.SCRAM_CREDENTIAL, _credential_name(key), hidden, hidden)


def _credentials(image: ClusterImage) -> dict[tuple[int, str], _Values]:
    return {key: {"iterations": credential.iterations} for key, credential in image.scram_credentials.items()}


def _credential_name(key: tuple[int, str]) -> str:
    mechanism, user = key
    return f"{user} ({mechanism_name(mechanism)})"


def _tokens(image: ClusterImage) -> dict[str, _Values]:
    return {token_id: _token(token) for token_id, token in image.delegation_tokens.items()}


def _token(token: DelegationTokenRecord) -> _Values:
    return {
        "owner": token.owner,
        "requester": token.requester,
        "renewers": list(token.renewers),
        "issue_timestamp": token.issue_timestamp,
        "expiration_timestamp": token.expiration_timestamp,
        "max_timestamp": token.max_timestamp,
    }


def _quotas(image: ClusterImage) -> dict[frozenset[QuotaEntity], _Values]:
    return {entity: dict(sorted(limits.items())) for entity, limits in image.client_quotas.items()}


def entity_name(entity: frozenset[QuotaEntity]) -> str:
    """Name whom a quota binds."""
    parts = sorted(entity, key=lambda part: part.entity_type)
    return ", ".join(
        f"{part.entity_type} {part.entity_name}" if part.entity_name is not None else f"every other {part.entity_type}"
        for part in parts
    )


def _features(image: ClusterImage) -> dict[str, _Values]:
    return {name: {"level": level} for name, level in image.features.items()}


def _brokers(image: ClusterImage) -> dict[str, _Values]:
    return {f"broker {node}": _broker(broker) for node, broker in image.brokers.items()}


def _broker(broker: BrokerRegistration) -> _Values:
    cordoned = broker.cordoned_directories
    return {
        "epoch": broker.epoch,
        "incarnation_id": format_uuid(broker.incarnation_id),
        "fenced": broker.fenced,
        "in_controlled_shutdown": broker.in_controlled_shutdown,
        "rack": broker.rack,
        "listeners": _addresses(broker.listeners),
        "features": _levels(broker.features),
        "directories": [format_uuid(directory) for directory in broker.directories],
        "cordoned_directories": None if cordoned is None else [format_uuid(directory) for directory in cordoned],
        "is_migrating_zk_broker": broker.is_migrating_zk_broker,
    }


def _controllers(image: ClusterImage) -> dict[str, _Values]:
    return {f"controller {node}": _controller(controller) for node, controller in image.controllers.items()}


def _controller(controller: ControllerRegistration) -> _Values:
    return {
        "incarnation_id": format_uuid(controller.incarnation_id),
        "listeners": _addresses(controller.listeners),
        "features": _levels(controller.features),
        "zk_migration_ready": controller.zk_migration_ready,
    }


def _addresses(listeners: Mapping[str, Endpoint]) -> list[str]:
    return [
        f"{name} ({protocol_name(endpoint.security_protocol)}) at {endpoint.host}:{endpoint.port}"
        for name, endpoint in sorted(listeners.items())
    ]


def _levels(features: Mapping[str, SupportedFeature]) -> list[str]:
    return [
        f"{name} {each.min_supported_version}-{each.max_supported_version}" for name, each in sorted(features.items())
    ]


def _producer_ids(image: ClusterImage) -> dict[str, _Values]:
    return {"next block": {"next_producer_id": image.next_producer_id}} if image.next_producer_id else {}


def _migration(image: ClusterImage) -> dict[str, _Values]:
    return {"state": {"zk_migration_state": image.zk_migration_state}} if image.zk_migration_state else {}
