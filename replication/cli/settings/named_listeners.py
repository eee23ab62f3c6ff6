"""`listeners` of a server.properties of Kafka's: names, addresses and protocols (Kafka: SocketServerConfigs)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from replication.cli.settings.client_properties import PROTOCOLS
from replication.wire.addresses import LAST_PORT, Address
from replication.wire.errors import InvalidSettingsError

LISTENERS: Final = "listeners"
ADVERTISED: Final = "advertised.listeners"
PROTOCOL_MAP: Final = "listener.security.protocol.map"
INTER_BROKER: Final = "inter.broker.listener.name"
INTER_BROKER_PROTOCOL: Final = "security.inter.broker.protocol"
CONTROLLERS: Final = "controller.listener.names"
KNOWN: Final = (LISTENERS, ADVERTISED, PROTOCOL_MAP, INTER_BROKER, INTER_BROKER_PROTOCOL, CONTROLLERS)
"""The properties that are read here."""
_PLAINTEXT: Final = "PLAINTEXT"
_LISTENER: Final = re.compile(
    r"(?P<name>[^\s,:/]+)://(?:\[(?P<ipv6>[^\[\]]*)\]|(?P<host>[^\[\]/\s]*)):(?P<port>\d{1,5})", re.ASCII
)


class NamedAddress(NamedTuple):
    """An entry of `listeners`."""

    name: str
    address: Address


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedListeners:
    """What the properties say of a broker's listeners. Names are in capitals, as Kafka makes them."""

    own: tuple[NamedAddress, ...]
    """Where it listens."""
    advertised: tuple[NamedAddress, ...]
    """The addresses of listeners that others get, the controllers' too."""
    inter_broker: str
    """The name of the one for other brokers."""
    controllers: tuple[str, ...]
    """What the controllers' are called; the first is that by which they are asked."""
    protocols: Mapping[str, str]
    """How each is protected, by its name; a name of which nothing is said is not there."""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Create it from properties by name. Raises InvalidSettingsError for invalid entries; see `listener_faults`."""
        own = tuple(_entries(given, LISTENERS)) or (NamedAddress(_PLAINTEXT, Address("", 9092)),)
        controllers = tuple(map(_normal, _split(given.get(CONTROLLERS, ""))))
        return cls(
            own=own,
            advertised=tuple(_entries(given, ADVERTISED)) or own,
            inter_broker=_normal(given.get(INTER_BROKER) or given.get(INTER_BROKER_PROTOCOL) or _PLAINTEXT),
            controllers=controllers,
            protocols=_protocols(given, [each.name for each in own], controllers),
        )

    @property
    def names(self) -> list[str]:
        """Those of its own; the one for brokers is the first."""
        return sorted(dict.fromkeys(each.name for each in self.own), key=lambda name: name != self.inter_broker)

    @property
    def registered(self) -> tuple[NamedAddress, ...]:
        """Those by which this broker is found: of its own some may be missing, but not the one for brokers."""
        return tuple(each for each in self.advertised if each.name not in self.controllers)

    def protocol(self, name: str) -> str:
        """Return how a listener is protected. Raises InvalidSettingsError where nothing, or nothing known, is said."""
        found = self.protocols.get(name)
        if found is None:
            raise InvalidSettingsError(f"{PROTOCOL_MAP} has no protocol for {name}")
        if found not in PROTOCOLS:
            raise InvalidSettingsError(
                f"{PROTOCOL_MAP} has {found!r:.60} for {name}, and supported are {', '.join(PROTOCOLS)}"
            )
        return found


def _entries(given: Mapping[str, str], name: str) -> Iterator[NamedAddress]:
    """Yield the listeners of a list; none where there is no such property."""
    text = given.get(name)
    if text is None:
        return
    # Of equal entries Kafka takes the first.
    for entry in dict.fromkeys(each.strip() for each in text.split(",")):
        match = _LISTENER.fullmatch(entry)
        if match is None or int(match["port"]) > LAST_PORT:
            raise InvalidSettingsError(f"{name} has {entry!r:.60}, and must be of NAME://HOST:PORT,...")
        host = match["host"] if match["ipv6"] is None else match["ipv6"]
        yield NamedAddress(_normal(match["name"]), Address(host, int(match["port"])))


def _protocols(given: Mapping[str, str], own: list[str], controllers: tuple[str, ...]) -> dict[str, str]:
    """Return the protocols by listener: by default a listener has that of its name."""
    if PROTOCOL_MAP in given:
        pairs = (entry.rpartition(":") for entry in _split(given[PROTOCOL_MAP]))
        return {_normal(name): _normal(protocol) for name, _, protocol in pairs}
    of_names = {name: name for name in PROTOCOLS}
    is_plain = not (set(own) | set(controllers)) & (of_names.keys() - {_PLAINTEXT})
    return {**(dict.fromkeys(controllers, _PLAINTEXT) if is_plain else {}), **of_names}


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _normal(name: str) -> str:
    return name.strip().upper()
