"""The listeners as the cluster is told of them (Kafka: advertised.listeners)."""

from collections.abc import Mapping, Sequence

from replication.protocol.addresses import Address
from replication.protocol.messages.broker_registration import Listener, SecurityProtocol
from replication.server.advertised_address import advertised_address
from replication.server.connections.listener_settings import ListenerSettings


def advertised_listeners(listeners: Sequence[ListenerSettings], bound: Mapping[str, Address]) -> tuple[Listener, ...]:
    """Return those that are advertised; `bound` has where each listens, by its name."""
    return tuple(
        Listener(each.name, *_address(each, bound[each.name]), _protocol(each))
        for each in listeners
        if each.is_advertised
    )


def _address(listener: ListenerSettings, bound: Address) -> Address:
    told = listener.advertised or Address("", 0)
    address = advertised_address(bound, told.host)
    return address._replace(port=told.port or address.port)


def _protocol(listener: ListenerSettings) -> SecurityProtocol:
    return SecurityProtocol[f"{'SASL_' if listener.sasl else ''}{'SSL' if listener.tls else 'PLAINTEXT'}"]
