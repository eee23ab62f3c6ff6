"""A file of properties for a broker of our own, under the names that a broker's have in server.properties."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final, Self

from logstore.directory.directory_settings import DirectorySettings
from replication.cli.settings import serving_properties
from replication.cli.settings.metrics_address import MetricsAddress
from replication.cli.settings.serving_properties import ServingProperties, from_file, whole_number
from replication.cluster.broker.authorization.authorizer_settings import AuthorizerSettings
from replication.cluster.broker.broker_settings import HEARTBEAT_INTERVAL_MS, SESSION_TIMEOUT_MS
from replication.cluster.broker.groups.group_settings import GroupSettings
from replication.cluster.broker.replicas.damage.read_damages import VERIFY_INTERVAL_MS
from replication.cluster.broker.replicas.topic_settings import REPLICA_LAG_TIME_MAX_MS
from replication.cluster.controller.controller import ControllerSettings
from replication.records.metadata.settings.ineffective_settings import ineffective_of_topics
from replication.records.metadata.settings.topic_settings import TOPIC_SETTINGS, settings_fault
from replication.wire.addresses import Address
from replication.wire.errors import InvalidSettingsError

_NODE_ID: Final = "node.id"
_AUTO_CREATE: Final = "auto.create.topics.enable"
_CLEANER: Final = "log.cleaner.enable"
_VERIFY: Final = "fetch.verify.interval.ms"
"""Of ours: Kafka's broker sends what its files hold, unchecked."""
_LAG: Final = "replica.lag.time.max.ms"
_HEARTBEAT: Final = "broker.heartbeat.interval.ms"
_SESSION: Final = "broker.session.timeout.ms"
_PARTITIONS: Final = "num.partitions"
_FACTOR: Final = "default.replication.factor"
REBALANCE_DELAY: Final = "group.initial.rebalance.delay.ms"
_RETENTION: Final = "retention.ms"
_FOR_EVER: Final = -1
_UNITS: Final[Mapping[str, tuple[str, int]]] = {
    "log.retention.hours": ("retention.ms", 3_600_000),
    "log.retention.minutes": ("retention.ms", 60_000),
    "log.retention.ms": ("retention.ms", 1),
    "log.roll.hours": ("segment.ms", 3_600_000),
    "log.roll.ms": ("segment.ms", 1),
    "log.flush.interval.ms": ("flush.ms", 1),
}
"""Settings of brokers in several units, the finest of which counts."""
_TOPICS: Final = {known.synonym: name for name, known in TOPIC_SETTINGS.items() if known.synonym is not None}
_OF_DIRECTORIES: Final = {
    field.name.replace("_", "."): field.name for field in fields(DirectorySettings) if field.name != "max_open_files"
}
_LEAST: Final = {
    _NODE_ID: 0,
    **dict.fromkeys((_LAG, _HEARTBEAT, _SESSION, _PARTITIONS, _FACTOR, *_OF_DIRECTORIES), 1),
    "log.cleaner.backoff.ms": 0,
    _VERIFY: 0,
    REBALANCE_DELAY: 0,
}
"""The least value of settings in which another would be no broker, no time, or nothing at all."""
_TIMES: Final = (_VERIFY, _LAG, _HEARTBEAT, _SESSION, REBALANCE_DELAY)
_NUMBERS: Final = (_NODE_ID, *_TIMES, _PARTITIONS, _FACTOR, *_OF_DIRECTORIES, *_UNITS)
AUTHORIZER: Final = "authorizer.class.name"
_AUTHORIZER_CLASS: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_EVERYONE: Final = "allow.everyone.if.no.acl.found"
_OF_AUTHORIZER: Final = ("super.users", _EVERYONE)
_FLAGS: Final = (_AUTO_CREATE, _CLEANER, _EVERYONE)
METRICS: Final = "metrics.listener"
"""Of ours: Kafka's metrics are read by way of Java."""
KNOWN: Final = (_AUTO_CREATE, _CLEANER, METRICS, AUTHORIZER, *_OF_AUTHORIZER, *_NUMBERS, *_TOPICS)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerProperties:
    """What a broker is started with."""

    serving: ServingProperties
    node_id: int | None
    """None: that of the directories."""
    auto_create_topics: bool
    compacts: bool
    topic_defaults: Mapping[str, str]
    fetch_verify_interval_ms: int
    replica_lag_time_max_ms: int
    heartbeat_interval_ms: int
    groups: GroupSettings
    controller: ControllerSettings
    directories: DirectorySettings
    authorizer: AuthorizerSettings | None = None
    """None: whoever may connect may do everything."""
    metrics: MetricsAddress | None = None
    """Where metrics are served; None: nowhere."""

    @classmethod
    def read(cls, path: Path, address: Address) -> Self:
        """Read a file, for a listener at an address. Raises InvalidSettingsError, with its name, and OSError."""
        return from_file(path, lambda properties: cls.of(properties, address))

    @classmethod
    def of(cls, properties: Mapping[str, str], address: Address, *more: Address) -> Self:
        """Create it from properties by name, for a listener at an address, beside those at others.

        Raises InvalidSettingsError, which names all that is wrong.
        """
        given = {name: value.strip() for name, value in properties.items()}
        if faults := list(_faults(given, address, *more)):
            raise InvalidSettingsError("; ".join(faults))
        numbers = {name: whole_number(given, name) for name in _NUMBERS if name in given}
        topics = _topic_defaults(given)
        return cls(
            serving=ServingProperties.of(_of_listener(given), address),
            node_id=numbers.get(_NODE_ID),
            auto_create_topics=given.get(_AUTO_CREATE, "true").lower() == "true",
            compacts=given.get(_CLEANER, "true").lower() == "true",
            topic_defaults=topics,
            fetch_verify_interval_ms=numbers.get(_VERIFY, VERIFY_INTERVAL_MS),
            replica_lag_time_max_ms=numbers.get(_LAG, REPLICA_LAG_TIME_MAX_MS),
            heartbeat_interval_ms=numbers.get(_HEARTBEAT, HEARTBEAT_INTERVAL_MS),
            groups=_groups(numbers),
            controller=ControllerSettings(
                broker_session_timeout_ms=numbers.get(_SESSION, SESSION_TIMEOUT_MS),
                num_partitions=numbers.get(_PARTITIONS, 1),
                default_replication_factor=numbers.get(_FACTOR, 1),
                defaults=topics,
            ),
            directories=DirectorySettings(
                **{field: numbers[name] for name, field in _OF_DIRECTORIES.items() if name in numbers}
            ),
            authorizer=AuthorizerSettings.of_properties(given) if given.get(AUTHORIZER) else None,
            metrics=MetricsAddress.parse(given[METRICS]) if given.get(METRICS) else None,
        )


def ineffective(given: Mapping[str, str]) -> dict[str, str]:
    """Return which of the settings for topics make no difference, and why."""
    named = {_TOPICS[name]: name for name in given if name in _TOPICS}
    found = ineffective_of_topics({topic: given[name] for topic, name in named.items()})
    return {named[topic]: why for topic, why in found.items()}


def _groups(numbers: Mapping[str, int]) -> GroupSettings:
    known = GroupSettings()
    delay_ms = numbers.get(REBALANCE_DELAY)
    return known if delay_ms is None else replace(known, initial_rebalance_delay=delay_ms / 1_000)


def _of_listener(given: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in given.items() if name in serving_properties.KNOWN}


def _topic_defaults(given: Mapping[str, str]) -> dict[str, str]:
    """Return what is set for topics, under the topics' own names."""
    coarse_first = {topic: int(given[name]) * unit for name, (topic, unit) in _UNITS.items() if name in given}
    if _RETENTION in coarse_first:
        coarse_first[_RETENTION] = max(_FOR_EVER, coarse_first[_RETENTION])  # -1 is for ever in each of the units
    times = {name: str(value) for name, value in coarse_first.items()}
    return times | {_TOPICS[name]: value for name, value in given.items() if name in _TOPICS}


def _faults(given: Mapping[str, str], address: Address, *more: Address) -> Iterator[str]:
    """Find all that is wrong."""
    known = {*KNOWN, *serving_properties.KNOWN}
    if unknown := sorted(given.keys() - known):
        yield f"{', '.join(unknown)}: not known here; these are: {', '.join(sorted(known))}"
    are_numbers = True
    for name in _NUMBERS:
        try:
            number = whole_number({name: "1", **given}, name)
        except InvalidSettingsError as error:
            are_numbers = False
            yield str(error)
            continue
        if number < _LEAST.get(name, number):
            yield f"{name} is {number}, and must be at least {_LEAST[name]}"
    if are_numbers:
        yield from _session_faults(given)
    for name in _FLAGS:
        if given.get(name, "true").lower() not in {"true", "false"}:
            yield f"{name} is {given[name]!r:.60}, and must be true or false"
    yield from _authorizer_faults(given)
    yield from _metrics_faults(given, {address.port, *(each.port for each in more)})
    fault = settings_fault(_topic_defaults(given)) if are_numbers else None
    if fault is not None:
        yield fault
    for name, why in ineffective(given).items():
        yield f"{name} is {given[name]!r:.60}, and makes no difference here: {why}"
    try:
        ServingProperties.of(_of_listener(given), address)
    except InvalidSettingsError as error:
        yield str(error)


def _session_faults(given: Mapping[str, str]) -> Iterator[str]:
    """Find a session that would be over before the next heartbeat is due."""
    times = {_HEARTBEAT: str(HEARTBEAT_INTERVAL_MS), _SESSION: str(SESSION_TIMEOUT_MS), **given}
    heartbeat_ms, session_ms = whole_number(times, _HEARTBEAT), whole_number(times, _SESSION)
    if session_ms <= heartbeat_ms:
        yield f"{_SESSION} is {session_ms}, and must be more than {_HEARTBEAT}, which is {heartbeat_ms}"


def _authorizer_faults(given: Mapping[str, str]) -> Iterator[str]:
    """Find what would leave a broker open that somebody means to be guarded."""
    named = given.get(AUTHORIZER)
    if named and named != _AUTHORIZER_CLASS:
        yield f"{AUTHORIZER} is {named!r:.120}, and supported is {_AUTHORIZER_CLASS}"
    unused = [name for name in _OF_AUTHORIZER if name in given]
    if unused and not named:
        yield f"{', '.join(unused)}: of no use without {AUTHORIZER}"


def _metrics_faults(given: Mapping[str, str], ports: Collection[int]) -> Iterator[str]:
    """Find where metrics cannot be served; whether others have the port is not looked at."""
    text = given.get(METRICS)
    if not text:
        return
    try:
        metrics = MetricsAddress.parse(text)
    except ValueError as error:
        yield f"{METRICS}: {error}"
        return
    if metrics.port and metrics.port in ports:
        yield f"{METRICS} has port {metrics.port}, which clients are answered on"
