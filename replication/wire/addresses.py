"""The addresses of brokers, as users write them: `broker1:9092,[::1]:9092` (Kafka: bootstrap.servers)."""

import re
from typing import NamedTuple

from replication.wire.errors import InvalidAddressError

_HOST_AND_PORT = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.%\w]+)\]|(?P<host>[^\s:\[\]/]+)):(?P<port>\d{1,5})", re.ASCII)
LAST_PORT = 65_535


class Address(NamedTuple):
    """A host name or IP address, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Parse comma-separated addresses. Raises InvalidAddressError, which names the invalid one.

    >>> parse_addresses("broker1:9092, [::1]:9093")
    (Address(host='broker1', port=9092), Address(host='::1', port=9093))
    """
    addresses = tuple(parse_address(part.strip()) for part in text.split(",") if part.strip())
    if not addresses:
        raise InvalidAddressError(text, "it is empty")
    return addresses


def parse_address(text: str, *, first_port: int = 1) -> Address:
    """Parse one address. Raises InvalidAddressError; `first_port` 0 allows what stands for any free one."""
    match = _HOST_AND_PORT.fullmatch(text)
    if match is None:
        raise InvalidAddressError(text, _fault(text))
    port = int(match["port"])
    if not first_port <= port <= LAST_PORT:
        raise InvalidAddressError(text, f"the port is not between {first_port} and {LAST_PORT}")
    return Address(match["ipv6"] or match["host"], port)


def _fault(text: str) -> str:
    if "://" in text:
        return "remove the listener's name or the scheme"
    if text.count(":") > 1 and not text.startswith("["):
        return "an IPv6 address needs brackets"
    if ":" not in text:
        return "the port is missing"
    return "a host and a port are expected"
