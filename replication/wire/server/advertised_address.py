"""Where clients are told to connect (Kafka: advertised.listeners)."""

import socket
from typing import Final

from replication.wire.addresses import Address

EVERY_ADDRESS: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104  told apart, not bound to
"""What stands for all addresses of this machine."""


def advertised_address(listens: Address, host: str | None = None) -> Address:
    """Return the port that is listened on, at a host: of all addresses of this machine that is its name by default."""
    own = socket.getfqdn() if listens.host in EVERY_ADDRESS else listens.host
    return Address(host or own, listens.port)
