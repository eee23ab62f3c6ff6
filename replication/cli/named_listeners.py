"""`listeners` and what protects each, as a server.properties of Kafka's has them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from replication.cli import client_properties, serving_properties
from replication.cli.client_properties import PROTOCOLS, ClientProperties
from replication.protocol.addresses import LAST_PORT, Address
from replication.protocol.client.client_settings import ClientSettings
from replication.protocol.client.oauth import OAUTHBEARER
from replication.protocol.errors import InvalidSettingsError

_PROTOCOL_MAP: Final = "listener.security.protocol.map"
_LISTENER: Final = re.compile(
    r"(?P<name>[\w.-]+)://(?:\[(?P<ipv6>[^\[\]]*)\]|(?P<host>[^\[\]:]*)):(?P<port>\d{1,5})", re.ASCII
)


class NamedAddress(NamedTuple):
    """An entry of `listeners`."""

    name: str
    address: Address


@dataclass(frozen=True, slots=True)
class NamedListeners:
    """Reads them, and notes in `used` which properties it has taken something from. Raises InvalidSettingsError."""

    given: Mapping[str, str]
    used: set[str] = field(default_factory=set)

    def only(self, name: str) -> NamedAddress | None:
        """Return the one listener of a list of them; None where there is no such property."""
        text = self.given.get(name)
        self.used.add(name)
        if not text:
            return None
        entries = [entry.strip() for entry in text.split(",")]
        if len(entries) > 1:
            raise InvalidSettingsError(f"{name} names {len(entries)} listeners, and this broker has one, for all")
        match = _LISTENER.fullmatch(entries[0])
        if match is None or int(match["port"]) > LAST_PORT:
            raise InvalidSettingsError(f"{name} is {text!r:.60}, and must be NAME://HOST:PORT")
        host = match["ipv6"] or match["host"] or ""
        return NamedAddress(match["name"], Address("" if host in {"0.0.0.0", "::"} else host, int(match["port"])))  # noqa: S104  told apart, not bound to

    def protocol(self, listener: str) -> str:
        """Return the security protocol of a listener; one that nothing is said of has its own name's, or PLAINTEXT."""
        self.used.add(_PROTOCOL_MAP)
        text = self.given.get(_PROTOCOL_MAP)
        pairs = dict(entry.strip().partition(":")[::2] for entry in text.split(",")) if text else {}
        found = pairs.get(listener, listener if listener in PROTOCOLS else "" if text else "PLAINTEXT")
        if found not in PROTOCOLS:
            choices = ", ".join(PROTOCOLS)
            raise InvalidSettingsError(f"{_PROTOCOL_MAP} has {found!r} for {listener}, and supported are {choices}")
        return found

    def serving(self, listener: str) -> dict[str, str]:
        """Return what serves clients on a listener, as `ServingProperties.of` takes it."""
        protocol = self.protocol(listener)
        tls, sasl = PROTOCOLS[protocol]
        names = (*(serving_properties.TLS if tls else ()), *(serving_properties.SASL if sasl else ()))
        return {"security.protocol": protocol, **self._secured(listener, names)}

    def client(self, listener: str, mechanism_name: str) -> ClientSettings:
        """Return how to connect to others' listener of this name, with the mechanism that a property names."""
        protocol = self.protocol(listener)
        tls, sasl = PROTOCOLS[protocol]
        names = [name for name in client_properties.SUPPORTED if name.startswith("ssl.") and tls]
        taken = {"security.protocol": protocol, **self._secured(listener, names)}
        if sasl:
            self.used.add(mechanism_name)
            mechanism = self.given.get(mechanism_name, "GSSAPI")
            taken["sasl.mechanism"] = mechanism
            prefix = f"{mechanism.lower()}."
            for name in (each for each in client_properties.SUPPORTED if each.startswith("sasl.")):
                taken |= self._secured(listener, [f"{prefix}{name}"], under=name) or self._secured(listener, [name])
            if mechanism != OAUTHBEARER:
                taken.pop("sasl.login.callback.handler.class", None)
            taken["sasl.mechanism"] = mechanism
        return ClientProperties.of(taken).settings

    def _secured(self, listener: str, names: "tuple[str, ...] | list[str]", under: str | None = None) -> dict[str, str]:
        """Return the properties of these names, a listener's own before those of all listeners."""
        found: dict[str, str] = {}
        for name in names:
            for each in (f"listener.name.{listener.lower()}.{name}", name):
                if each in self.given:
                    self.used.add(each)
                    found.setdefault(under or name, self.given[each])
        return found
