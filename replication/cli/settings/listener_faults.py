"""What is wrong with a broker's listeners, by Kafka's rules (Kafka: KafkaConfig.validateValues)."""

import ipaddress
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from replication.cli.settings.client_properties import PROTOCOLS
from replication.cli.settings.named_listeners import (
    ADVERTISED,
    CONTROLLERS,
    INTER_BROKER,
    INTER_BROKER_PROTOCOL,
    LISTENERS,
    NamedAddress,
    NamedListeners,
)
from replication.wire.errors import InvalidSettingsError

_NOT_ROUTABLE: Final = "0.0.0.0"  # noqa: S104  told apart, not bound to
_BOTH_FAMILIES: Final = [4, 6]


def listener_faults(given: Mapping[str, str], found: NamedListeners) -> Iterator[str]:
    """Find what no broker can start with in the listeners that these properties say."""
    registered = [each.name for each in found.registered]
    yield from _twice(LISTENERS, found.own)
    yield from _twice(ADVERTISED, found.advertised) if ADVERTISED in given else ()
    yield from _shared_ports(found.own)
    yield from _unmapped(found)
    own = {each.name for each in found.own}
    if both := sorted(own & set(found.controllers)):
        yield f"{CONTROLLERS} names {', '.join(both)}, which {LISTENERS} has: that is the controllers', not a broker's"
    if others := [name for name in dict.fromkeys(registered) if name not in own]:
        yield f"{ADVERTISED} names {', '.join(others)}, which {LISTENERS} does not: {', '.join(sorted(own))}"
    for each in found.advertised:
        if each.address.host == _NOT_ROUTABLE:
            told = ADVERTISED if ADVERTISED in given else f"{LISTENERS}, without {ADVERTISED},"
            yield (
                f"{told} has {_NOT_ROUTABLE} for {each.name}, which is not an address to connect to: name the broker's "
                "address"
            )
    yield from _inter_broker(given, found, registered)


def _twice(name: str, entries: tuple[NamedAddress, ...]) -> Iterator[str]:
    for listener, count in Counter(each.name for each in entries).items():
        if count > 1:
            yield f"{name} has {listener} {count} times"


def _shared_ports(entries: tuple[NamedAddress, ...]) -> Iterator[str]:
    """Find ports of several listeners; one of IPv4 and one of IPv6 may share theirs."""
    by_port: defaultdict[int, list[NamedAddress]] = defaultdict(list)
    for each in entries:
        by_port[each.address.port].append(each)
    for port, sharing in by_port.items():
        is_shared = port and len(sharing) > 1
        if is_shared and sorted(_family(each.address.host) for each in sharing) != _BOTH_FAMILIES:
            yield f"{LISTENERS} has port {port} for {', '.join(each.name for each in sharing)}"


def _family(host: str) -> int:
    """Return 4 or 6, or 0 where it is no IP address."""
    try:
        return ipaddress.ip_address(host).version
    except ValueError:
        return 0


def _unmapped(found: NamedListeners) -> Iterator[str]:
    named = chain((each.name for each in (*found.own, *found.advertised)), found.controllers, found.protocols)
    for name in dict.fromkeys(named):
        try:
            found.protocol(name)
        except InvalidSettingsError as error:
            yield str(error)


def _inter_broker(given: Mapping[str, str], found: NamedListeners, registered: list[str]) -> Iterator[str]:
    protocol = given.get(INTER_BROKER_PROTOCOL, found.inter_broker)
    if INTER_BROKER in given and INTER_BROKER_PROTOCOL in given:
        yield f"{INTER_BROKER} and {INTER_BROKER_PROTOCOL} are both set, and say the same: remove one of them"
    elif INTER_BROKER_PROTOCOL in given and protocol not in PROTOCOLS:
        yield f"{INTER_BROKER_PROTOCOL} is {protocol!r:.60}, and supported are {', '.join(PROTOCOLS)}"
    elif given.get(INTER_BROKER) == "":
        yield f"{INTER_BROKER} is empty"
    elif found.inter_broker not in registered:
        named = given.get(INTER_BROKER)
        told = f"{INTER_BROKER} is" if named else f"without {INTER_BROKER} it is"
        advertised = ", ".join(registered) or "none is"
        yield f"{told} {found.inter_broker}, and must be a listener that is advertised: {advertised}"
