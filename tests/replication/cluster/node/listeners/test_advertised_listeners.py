"""What the cluster is told of a broker's listeners."""

import socket
from dataclasses import replace

import pytest

from replication.cluster.node.listeners import advertised_listeners
from replication.wire.addresses import Address
from replication.wire.messages.broker_registration import Listener, SecurityProtocol
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.security.no_users import NoUsers
from replication.wire.server.security.sasl_authentication import SaslSettings
from replication.wire.server.security.server_tls import ServerTls

BOUND = Address("10.0.0.1", 40_000)
LISTENER = ListenerSettings(name="A", address=Address("10.0.0.1", 0))
TLS, SASL = ServerTls(certificate="a.pem"), SaslSettings(users=NoUsers())


@pytest.mark.parametrize(
    ("advertised", "bound", "told"),
    [
        (None, BOUND, BOUND),
        (Address("broker9", 19_092), BOUND, Address("broker9", 19_092)),
        (Address("broker9", 0), BOUND, Address("broker9", 40_000)),
        (Address("", 19_092), BOUND, Address("10.0.0.1", 19_092)),
        (None, Address("0.0.0.0", 40_000), Address(socket.getfqdn(), 40_000)),  # noqa: S104  where it is told to be
    ],
)
def test_what_is_not_said_is_where_it_listens(advertised: Address | None, bound: Address, told: Address) -> None:
    listener = replace(LISTENER, advertised=advertised)
    assert advertised_listeners([listener], {"A": bound}) == (Listener("A", *told, SecurityProtocol.PLAINTEXT),)


@pytest.mark.parametrize(
    ("tls", "sasl", "protocol"),
    [
        (None, None, SecurityProtocol.PLAINTEXT),
        (TLS, None, SecurityProtocol.SSL),
        (None, SASL, SecurityProtocol.SASL_PLAINTEXT),
        (TLS, SASL, SecurityProtocol.SASL_SSL),
    ],
)
def test_the_protocol_is_told(tls: ServerTls | None, sasl: SaslSettings | None, protocol: SecurityProtocol) -> None:
    (told,) = advertised_listeners([replace(LISTENER, tls=tls, sasl=sasl)], {"A": BOUND})
    assert told.security_protocol is protocol


def test_nothing_is_told_of_one_that_is_not_advertised() -> None:
    others = replace(LISTENER, name="B", is_advertised=False)
    assert [each.name for each in advertised_listeners([others, LISTENER], {"A": BOUND, "B": BOUND})] == ["A"]
