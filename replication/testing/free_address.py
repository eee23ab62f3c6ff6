"""Where a broker may listen, and listen again after it was down."""

import socket
from random import Random
from typing import Final

from replication.protocol.addresses import Address

_HOST: Final = "127.0.0.1"
_PORTS: Final = range(20_000, 32_000)
"""Below those that systems give to clients: one of these could take the port of a broker that is down."""
_TRIES: Final = 100


def free_address() -> Address:
    """Return an address of the loopback interface on which nobody listens. Raises OSError after many tries."""
    random = Random()  # noqa: S311  not a secret
    for _ in range(_TRIES):
        address = Address(_HOST, random.choice(_PORTS))
        with socket.socket() as tried:
            try:
                tried.bind(address)
            except OSError:
                continue
        return address
    raise OSError(f"no port of {_HOST} was free in {_TRIES} tries")
