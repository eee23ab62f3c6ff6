"""A broker's server.properties, where its controllers are elsewhere: what of it holds here."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Final, Self, TypeVar

from replication.cli.settings import broker_properties, named_listeners, serving_properties
from replication.cli.settings.broker_properties import BrokerProperties
from replication.cli.settings.listener_faults import listener_faults
from replication.cli.settings.listener_security import ListenerSecurity
from replication.cli.settings.named_listeners import NamedListeners
from replication.cli.settings.serving_properties import from_file, whole_number
from replication.cluster.node.coordinators.errors import STARTS_WITHOUT
from replication.cluster.quorum.snapshot_terms import SnapshotTerms
from replication.wire.addresses import Address, parse_addresses
from replication.wire.client.client_settings import ClientSettings
from replication.wire.errors import InvalidAddressError, InvalidSettingsError
from replication.wire.server.connections.listener_settings import ListenerSettings

_OLDER_NAMES: Final = {"broker.id": "node.id", "log.dir": "log.dirs"}
"""What Kafka takes as well."""
_REGISTRATION: Final = "initial.broker.registration.timeout.ms"
_FETCHERS: Final = "num.replica.fetchers"
_SNAPSHOTS: Final = {
    "metadata.log.max.record.bytes.between.snapshots": ("record_bytes", 1),
    "metadata.log.max.snapshot.interval.ms": ("interval_ms", 0),
    "metadata.max.retention.bytes": ("retention_bytes", -1),
    "metadata.max.retention.ms": ("retention_ms", -1),
}
"""What each is to `SnapshotTerms`, and its least value."""
_CORDONED: Final = "cordoned.log.dirs"
_OWN: Final = frozenset(
    {
        "broker.rack",
        _CORDONED,
        "controller.quorum.bootstrap.servers",
        "controller.quorum.voters",
        "log.dirs",
        "metadata.log.dir",
        "process.roles",
        _FETCHERS,
        _REGISTRATION,
        STARTS_WITHOUT,
        *named_listeners.KNOWN,
        *_SNAPSHOTS,
    }
)
_CONTROLLERS_OWN: Final = frozenset({"num.partitions", "default.replication.factor"})
"""What `epochlog serve` acts upon as a controller, which this broker is not."""
_COORDINATORS_OWN: Final = frozenset({broker_properties.REBALANCE_DELAY})
"""And what it acts upon as a coordinator of groups."""
_OF_BROKER: Final = (
    frozenset({*broker_properties.KNOWN, *serving_properties.LIMITS}) - _CONTROLLERS_OWN - _COORDINATORS_OWN
)
KNOWN: Final = _OWN | _OF_BROKER

T = TypeVar("T")
_ALIKE: Final = 0.93
"""Names of Kafka's that mean different things are less so; a letter too many or too few is more."""


def similar_names(names: Collection[str], known: Collection[str]) -> dict[str, str]:
    """Return which known name each of `names` is nearly, where it is.

    >>> similar_names(["log.retention.hour", "foo.bar"], ["log.retention.hours", "log.dirs"])
    {'log.retention.hour': 'log.retention.hours'}
    """
    found = {name: get_close_matches(name, known, 1, _ALIKE) for name in names}
    return {name: close[0] for name, close in found.items() if close}


@dataclass(frozen=True, slots=True, kw_only=True)
class JoiningProperties:
    """What a broker that joins a cluster is started with."""

    node_id: int
    roots: tuple[Path, ...]
    metadata_root: Path
    controllers: tuple[Address, ...]
    to_controllers: ClientSettings
    """How the controllers' listener is protected."""
    to_brokers: ClientSettings
    """And the other brokers'."""
    listeners: tuple[ListenerSettings, ...]
    """Where it listens: first for other brokers."""
    rack: str | None
    cordoned: tuple[Path, ...] | None
    """Those of `roots` that are to get no new replicas; None: nothing is said of that."""
    fetchers: int
    registration_seconds: float
    starts_without_coordinators: bool
    """Whether it starts though no other broker can coordinate groups and transactions."""
    snapshots: SnapshotTerms
    broker: BrokerProperties
    passed_over: tuple[str, ...]
    """The names of properties that make no difference here."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file. Raises InvalidSettingsError, with its name, and OSError."""
        return from_file(path, cls.of)

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Self:
        """Create it from properties by name. Raises InvalidSettingsError, which names all that is wrong."""
        given = _named(properties)
        faults = list(_faults(given))

        def tried(read: Callable[[], T]) -> T | None:
            try:
                return read()
            except (InvalidSettingsError, InvalidAddressError) as error:
                faults.append(str(error))
                return None

        listeners = tried(lambda: NamedListeners.of(given)) or NamedListeners.of({})
        faults += listener_faults(given, listeners)
        security = ListenerSecurity(given, listeners)
        serving = [tried(partial(security.serving, name)) for name in listeners.names]
        unused = broker_properties.ineffective(given)
        taken = {name: value for name, value in given.items() if name in _OF_BROKER and name not in unused}
        broker = tried(lambda: BrokerProperties.of(taken, *(each.address for each in listeners.own)))
        controllers = tried(lambda: _controllers(given)) or ()
        to_controllers = tried(security.to_controllers) if listeners.controllers else None
        to_brokers = tried(security.to_brokers)
        fetchers = tried(lambda: _positive(given, _FETCHERS, 1)) or 1
        snapshots = tried(lambda: _snapshots(given)) or SnapshotTerms()
        registration_ms = tried(lambda: _positive(given, _REGISTRATION, 60_000)) or 1
        if faults or broker is None or broker.node_id is None or to_controllers is None or to_brokers is None:
            faults += (f"{name} is not known: is {meant} meant?" for name, meant in misspelt(given).items())
            raise InvalidSettingsError("; ".join(dict.fromkeys(faults)))
        roots = directories(given)
        unknown = given.keys() - KNOWN - security.used - _OLDER_NAMES.keys()
        return cls(
            node_id=broker.node_id,
            roots=roots,
            metadata_root=metadata_root(given) or roots[0],
            controllers=controllers,
            to_controllers=to_controllers,
            to_brokers=to_brokers,
            listeners=tuple(each for each in serving if each is not None),
            rack=given.get("broker.rack") or None,
            cordoned=_cordoned(given),
            fetchers=fetchers,
            registration_seconds=registration_ms / 1_000,
            starts_without_coordinators=given.get(STARTS_WITHOUT, "false").lower() == "true",
            snapshots=snapshots,
            broker=broker,
            passed_over=tuple(sorted(unused.keys() | unknown)),
        )


def misspelt(given: Iterable[str]) -> dict[str, str]:
    """Return which property may be meant by each that is not known, but nearly is one that is, and is not given too."""
    named = frozenset(given)
    known = KNOWN | _OLDER_NAMES.keys()
    return similar_names(sorted(named - known), known - named)


def directories_of(path: Path) -> tuple[int, tuple[Path, ...]]:
    """Return whose directories a file names, and these, with that of the metadata where it is apart.

    Raises InvalidSettingsError, with the file's name, and OSError.
    """
    return from_file(path, _directories_of)


def named_directories(path: Path) -> tuple[int | None, tuple[Path, ...], Path | None]:
    """Return the node.id, the log.dirs and the metadata.log.dir of a file, whatever else is wrong with it.

    Raises InvalidSettingsError, with the file's name, and OSError.
    """
    given = from_file(path, _named)
    try:
        node_id = whole_number(given, "node.id")
    except (InvalidSettingsError, KeyError):
        node_id = None
    return node_id, directories(given), metadata_root(given)


def _directories_of(properties: Mapping[str, str]) -> tuple[int, tuple[Path, ...]]:
    given = _named(properties)
    if faults := list(_faults(given)):
        raise InvalidSettingsError("; ".join(faults))
    node_id = whole_number(given, "node.id")
    if not 0 <= node_id < 1 << 31:
        raise InvalidSettingsError(f"node.id is {node_id}, and must be at least 0, and an int32")
    apart = metadata_root(given)
    return node_id, tuple(dict.fromkeys((*directories(given), *(() if apart is None else (apart,)))))


def _named(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties under their newer names too, which count where both are given, as with Kafka."""
    given = {name: value.strip() for name, value in properties.items()}
    return {newer: given[older] for older, newer in _OLDER_NAMES.items() if older in given} | given


def directories(given: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the entries of log.dirs."""
    return tuple(Path(each.strip()) for each in given.get("log.dirs", "").split(",") if each.strip())


def _cordoned(given: Mapping[str, str]) -> tuple[Path, ...] | None:
    text = given.get(_CORDONED)
    if text is None:
        return None
    return directories(given) if text == "*" else tuple(Path(each.strip()) for each in text.split(",") if each.strip())


def metadata_root(given: Mapping[str, str]) -> Path | None:
    """Return metadata.log.dir, if it is given."""
    named = given.get("metadata.log.dir")
    return Path(named) if named else None


def _faults(given: Mapping[str, str]) -> Iterator[str]:
    """Find what is missing, and what asks for another kind of node."""
    if given.get("broker.id", given.get("node.id")) != given.get("node.id"):
        yield f"broker.id is {given['broker.id']!r:.60}, and node.id {given['node.id']!r:.60}: leave the former out"
    roles = given.get("process.roles")
    if roles != "broker":
        told = "is missing" if roles is None else f"is {roles!r:.60}"
        yield f"process.roles {told}, and must be broker: `epochlog serve` is a broker and its own controller"
    if "node.id" not in given:
        yield "node.id is missing"
    if not directories(given):
        yield "log.dirs is missing: where are the broker's directories?"
    if others := set(_cordoned(given) or ()) - set(directories(given)):
        yield f"{_CORDONED} names {', '.join(sorted(map(str, others)))}, which log.dirs does not"
    if given.get(STARTS_WITHOUT, "false").lower() not in {"true", "false"}:
        yield f"{STARTS_WITHOUT} is {given[STARTS_WITHOUT]!r:.60}, and must be true or false"
    if not given.get("controller.listener.names"):
        yield "controller.listener.names is missing: by what name do the controllers listen?"


def _controllers(given: Mapping[str, str]) -> tuple[Address, ...]:
    """Return where to find the quorum."""
    servers = given.get("controller.quorum.bootstrap.servers")
    if servers:
        return parse_addresses(servers)
    voters = given.get("controller.quorum.voters")
    if not voters:
        raise InvalidSettingsError(
            "controller.quorum.bootstrap.servers is missing, and controller.quorum.voters: where are the controllers?"
        )
    return parse_addresses(",".join(voter.strip().rpartition("@")[2] for voter in voters.split(",")))


def _snapshots(given: Mapping[str, str]) -> SnapshotTerms:
    named = {field: _at_least(given, name, least) for name, (field, least) in _SNAPSHOTS.items() if name in given}
    return SnapshotTerms(**named)


def _positive(given: Mapping[str, str], name: str, default: int) -> int:
    return _at_least({name: str(default), **given}, name, 1)


def _at_least(given: Mapping[str, str], name: str, least: int) -> int:
    number = whole_number(given, name)
    if number < least:
        raise InvalidSettingsError(f"{name} is {number}, and must be at least {least}")
    return number
