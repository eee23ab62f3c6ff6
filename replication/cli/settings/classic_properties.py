"""A file of properties for a controller of the ZooKeeper era, under the names that a broker's have."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from replication.cli.settings import named_listeners
from replication.cli.settings.listener_faults import listener_faults
from replication.cli.settings.named_listeners import NamedListeners
from replication.cli.settings.serving_properties import from_file, whole_number
from replication.cluster.classic.classic_node import ClassicNodeSettings
from replication.cluster.controller.classic.settings import ClassicSettings
from replication.records.metadata.configurations import UNCLEAN_LEADER_ELECTION
from replication.wire.errors import InvalidSettingsError

_ID: Final = "broker.id"
_CONNECT: Final = "zookeeper.connect"
_SESSION: Final = "zookeeper.session.timeout.ms"
_CONNECTING: Final = "zookeeper.connection.timeout.ms"
_CHECK: Final = "leader.imbalance.check.interval.seconds"
_PERCENTAGE: Final = "leader.imbalance.per.broker.percentage"
_REBALANCE: Final = "auto.leader.rebalance.enable"
_DELETE: Final = "delete.topic.enable"
_PARTITIONS: Final = "num.partitions"
_FACTOR: Final = "default.replication.factor"
_NUMBERS: Final[Mapping[str, tuple[int, int | None]]] = {
    _ID: (0, None),
    _SESSION: (1_000, 18_000),
    _CONNECTING: (1_000, 18_000),
    _CHECK: (1, 300),
    _PERCENTAGE: (0, 10),
    _PARTITIONS: (1, 1),
    _FACTOR: (1, 1),
}
"""The least value of each, and its default."""
_PROTOCOL: Final = "inter.broker.protocol.version"
_VERSION: Final = re.compile(r"(\d+)\.(\d+)", re.ASCII)
_FIRST_WITH_TOPIC_IDS: Final = (2, 8)
_FLAGS: Final = {_REBALANCE: "true", _DELETE: "true", UNCLEAN_LEADER_ELECTION: "false"}
_REFUSED: Final = {
    "authorizer.class.name": "what it is asked would be asked in its own name, and not be authorized",
    "control.plane.listener.name": "it reaches brokers as they reach each other",
    "process.roles": "a cluster of KRaft has other controllers: see epochlog broker",
    "broker.rack": "it holds no replicas",
}
"""What it cannot be without being another controller than is asked for, and why."""
_MUST_BE_FALSE: Final = {
    "zookeeper.ssl.client.enable": "it connects to ZooKeeper without TLS",
    "zookeeper.set.acl": "it writes nodes that everybody can change",
    "zookeeper.metadata.migration.enable": "a cluster that moves to KRaft needs Kafka's own controller",
}
KNOWN: Final = frozenset({_CONNECT, _PROTOCOL, *_NUMBERS, *_FLAGS, *named_listeners.KNOWN})


@dataclass(frozen=True, slots=True)
class ClassicProperties:
    """What such a controller is started with."""

    node: ClassicNodeSettings
    passed_over: tuple[str, ...]
    """The names of properties that make no difference here."""

    @classmethod
    def read(cls, path: Path, zookeeper: str | None = None) -> Self:
        """Read a file, for another ZooKeeper than it may name.

        Raises InvalidSettingsError, with the file's name, and OSError.
        """
        return from_file(path, lambda properties: cls.of(properties, zookeeper))

    @classmethod
    def of(cls, properties: Mapping[str, str], zookeeper: str | None = None) -> Self:
        """Create it from properties by name. Raises InvalidSettingsError, which names all that is wrong."""
        given = {name: value.strip() for name, value in properties.items()}
        if zookeeper is not None:
            given[_CONNECT] = zookeeper
        listeners = NamedListeners.of(given)
        faults = [*listener_faults(given, listeners), *_faults(given, listeners)]
        if faults:
            raise InvalidSettingsError("; ".join(faults))
        numbers = {name: _number(given, name) for name in _NUMBERS}
        flags = {name: given.get(name, default).lower() for name, default in _FLAGS.items()}
        name = listeners.inter_broker
        node = ClassicNodeSettings(
            broker_id=numbers[_ID],
            zookeeper=given[_CONNECT],
            session_seconds=numbers[_SESSION] / 1_000,
            connect_seconds=numbers[_CONNECTING] / 1_000,
            listen=next(each.address for each in listeners.own if each.name == name),
            listener=name,
            advertised=next((each.address for each in listeners.registered if each.name == name), None),
            controller=ClassicSettings(
                topic_ids=True,
                delete_topic_enable=flags[_DELETE] == "true",
                auto_leader_rebalance_enable=flags[_REBALANCE] == "true",
                leader_imbalance_check_interval_ms=1_000 * numbers[_CHECK],
                leader_imbalance_per_broker_percentage=numbers[_PERCENTAGE],
                num_partitions=numbers[_PARTITIONS],
                default_replication_factor=numbers[_FACTOR],
                defaults={UNCLEAN_LEADER_ELECTION: flags[UNCLEAN_LEADER_ELECTION]},
            ),
        )
        return cls(node, tuple(sorted(given.keys() - KNOWN)))


def _number(given: Mapping[str, str], name: str) -> int:
    """Return a number, or its default. Raises InvalidSettingsError."""
    least, default = _NUMBERS[name]
    if name not in given:
        if default is None:
            raise InvalidSettingsError(f"{name} is missing: the controller's own, which no broker may have")
        return default
    number = whole_number(given, name)
    if not least <= number < 1 << 31:
        raise InvalidSettingsError(f"{name} is {number}, and must be at least {least}, and an int32")
    return number


def _faults(given: Mapping[str, str], listeners: NamedListeners) -> Iterator[str]:
    for name in _NUMBERS:
        try:
            _number(given, name)
        except InvalidSettingsError as error:
            yield str(error)
    for name in _FLAGS:
        if given.get(name, "true").lower() not in {"true", "false"}:
            yield f"{name} is {given[name]!r:.60}, and must be true or false"
    if not given.get(_CONNECT):
        yield f"{_CONNECT} is missing: name the cluster's ZooKeeper there, or by --zookeeper"
    for name, why in _REFUSED.items():
        if given.get(name):
            yield f"{name} is not supported: {why}"
    for name, why in _MUST_BE_FALSE.items():
        if given.get(name, "false").lower() != "false":
            yield f"{name} is not supported: {why}"
    version = _VERSION.match(given.get(_PROTOCOL, "3.9"))
    if version is None or tuple(map(int, version.groups())) < _FIRST_WITH_TOPIC_IDS:
        yield f"{_PROTOCOL} is {given[_PROTOCOL]!r:.60}, and must be 2.8 or later: topics have no ids before"
    yield from _listener_faults(listeners)


def _listener_faults(listeners: NamedListeners) -> Iterator[str]:
    name = listeners.inter_broker
    if [each.name for each in listeners.own] != [name]:
        yield f"{named_listeners.LISTENERS} must have {name} alone, by which brokers reach each other"
    if listeners.protocols.get(name) != "PLAINTEXT":
        yield f"the listener {name} has to be PLAINTEXT: neither TLS nor SASL is supported between it and brokers"
