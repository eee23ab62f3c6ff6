"""What callers may do, by the metadata as it is known now."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, ip_address
from typing import NamedTuple
from uuid import UUID

from replication.cluster.broker.authorization.access_rules import AccessRules
from replication.cluster.broker.authorization.authorizer_settings import AuthorizerSettings
from replication.cluster.broker.authorization.operation import EVERY_OPERATION
from replication.cluster.broker.authorization.permissions import GrantedPermissions, Permissions, unlimited
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import AccessControlEntryRecord
from replication.wire.server.call import Caller


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


class _Known(NamedTuple):
    """The rules of an image."""

    image: ClusterImage
    entries: Mapping[UUID, AccessControlEntryRecord]
    rules: AccessRules


class Authorizer:
    """Kafka: StandardAuthorizer. Any thread may ask.

    >>> authorizer = Authorizer(lambda: image, AuthorizerSettings(super_users=frozenset({"User:admin"})))
    >>> authorizer.permissions(call.caller).may(Operation.READ, ResourceType.TOPIC, "orders")
    True
    """

    def __init__(self, image: Callable[[], ClusterImage], settings: AuthorizerSettings | None = None) -> None:
        """`image` returns what is known of the cluster by now, in images that do not change any more."""
        self._image = image
        self._settings = settings or AuthorizerSettings()
        self._known = self._look(image(), None)

    def permissions(self, caller: Caller) -> Permissions:
        """Return what a caller may do by now; they stay as they are, whatever changes meanwhile."""
        if caller.principal in self._settings.super_users:
            return unlimited(caller)
        known, image = self._known, self._image()
        if image is not known.image or not image.is_frozen:
            known = self._known = self._look(image, known)
        return GrantedPermissions(known.rules, caller.principal, host_address(caller.address))

    def _look(self, image: ClusterImage, known: _Known | None) -> _Known:
        """Arrange the entries of an image anew, if they are others."""
        entries = image.access_control_entries
        if known is not None and entries == known.entries:
            return known._replace(image=image)
        everyone = EVERY_OPERATION if self._settings.allow_everyone_if_no_acl_found else 0
        rules = AccessRules(entries.values(), otherwise=everyone)
        return _Known(image, entries if image.is_frozen else dict(entries), rules)
