"""What protects each listener, as a server.properties of Kafka's has it: for all, or for one by its name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from replication.cli.settings import client_properties, serving_properties
from replication.cli.settings.client_properties import PROTOCOLS, ClientProperties
from replication.cli.settings.named_listeners import NamedListeners
from replication.cli.settings.serving_properties import ServingProperties
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.oauth import OAUTHBEARER
from replication.wire.errors import InvalidSettingsError
from replication.wire.server.advertised_address import EVERY_ADDRESS
from replication.wire.server.connections.listener_settings import ListenerSettings

_INTER_BROKER: Final = "sasl.mechanism.inter.broker.protocol"
_CONTROLLER: Final = "sasl.mechanism.controller.protocol"


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """Reads it, and notes in `used` which properties it has taken something from. Raises InvalidSettingsError."""

    given: Mapping[str, str]
    listeners: NamedListeners
    used: set[str] = field(default_factory=set)

    def serving(self, name: str) -> ListenerSettings:
        """Return how one of the broker's own serves."""
        protocol = self.listeners.protocol(name)
        tls, sasl = PROTOCOLS[protocol]
        names = (*(serving_properties.TLS if tls else ()), *(serving_properties.SASL if sasl else ()))
        addresses = {each.name: _any_address(each.address) for each in self.listeners.own}
        advertised = {each.name: _any_address(each.address) for each in self.listeners.registered}
        try:
            properties = {"security.protocol": protocol, **self._secured(name, names)}
            served = ServingProperties.of(properties, addresses[name], has_metadata=True).listener
            self._check_brokers_login(name, served)
        except InvalidSettingsError as error:
            raise InvalidSettingsError(f"listener {name}: {error}") from error
        return replace(served, name=name, advertised=advertised.get(name), is_advertised=name in advertised)

    def to_brokers(self) -> ClientSettings:
        """Return how to connect to other brokers."""
        return self._client(self.listeners.inter_broker, _INTER_BROKER)

    def to_controllers(self) -> ClientSettings:
        """Return how to connect to the controllers, of which there has to be a name."""
        return self._client(self.listeners.controllers[0], _CONTROLLER)

    def _check_brokers_login(self, name: str, served: ListenerSettings) -> None:
        """Raise InvalidSettingsError where brokers would log in by a mechanism that their listener does not take."""
        if name != self.listeners.inter_broker or served.sasl is None:
            return
        mechanism = self.given.get(_INTER_BROKER, "GSSAPI")
        enabled = [each.value for each in served.sasl.mechanisms]
        if mechanism not in enabled:
            raise InvalidSettingsError(f"{_INTER_BROKER} is {mechanism!r:.60}, and enabled are {', '.join(enabled)}")

    def _client(self, listener: str, mechanism_name: str) -> ClientSettings:
        """Return how to connect to others' listener of this name, with the mechanism that a property names."""
        protocol = self.listeners.protocol(listener)
        tls, sasl = PROTOCOLS[protocol]
        names = [name for name in client_properties.SUPPORTED if name.startswith("ssl.") and tls]
        taken = {"security.protocol": protocol, **self._secured(listener, names)}
        if sasl:
            self.used.add(mechanism_name)
            mechanism = self.given.get(mechanism_name, "GSSAPI")
            prefix = f"{mechanism.lower()}."
            for name in (each for each in client_properties.SUPPORTED if each.startswith("sasl.")):
                taken |= self._secured(listener, [f"{prefix}{name}"], under=name) or self._secured(listener, [name])
            if mechanism != OAUTHBEARER:
                taken.pop("sasl.login.callback.handler.class", None)
            taken["sasl.mechanism"] = mechanism
        return ClientProperties.of(taken).settings

    def _secured(self, listener: str, names: Iterable[str], under: str | None = None) -> dict[str, str]:
        """Return the properties of these names, a listener's own before those of all listeners."""
        found: dict[str, str] = {}
        for name in names:
            for each in (f"listener.name.{listener.lower()}.{name}", name):
                if each in self.given:
                    self.used.add(each)
                    found.setdefault(under or name, self.given[each])
        return found


def _any_address(address: Address) -> Address:
    """Return an address whose host is empty where it stands for all addresses of this machine."""
    return address._replace(host="") if address.host in EVERY_ADDRESS else address
