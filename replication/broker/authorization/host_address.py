"""IP addresses as Java writes them, and as entries about hosts therefore have them."""

from functools import lru_cache
from ipaddress import IPv4Address, ip_address


@lru_cache(maxsize=4_096)
def host_address(address: str) -> str:
    """Return an address as `InetAddress.getHostAddress` does: of IPv6 all eight groups, without leading zeros.

    >>> host_address("2001:db8::1"), host_address("::ffff:192.0.2.1"), host_address("192.0.2.1")
    ('2001:db8:0:0:0:0:0:1', '192.0.2.1', '192.0.2.1')
    """
    try:
        parsed = ip_address(address)
    except ValueError:  # such as the name of a test
        return address
    if isinstance(parsed, IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    number = int(parsed)
    groups = ":".join(f"{number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))
    return groups if parsed.scope_id is None else f"{groups}%{parsed.scope_id}"
