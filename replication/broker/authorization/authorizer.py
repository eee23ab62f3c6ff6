"""Says what callers may do, by the metadata as it is known by now."""

from collections.abc import Callable, Mapping
from typing import NamedTuple
from uuid import UUID

from replication.broker.authorization.access_rules import AccessRules
from replication.broker.authorization.authorizer_settings import AuthorizerSettings
from replication.broker.authorization.host_address import host_address
from replication.broker.authorization.operation import EVERY_OPERATION
from replication.broker.authorization.permissions import GrantedPermissions, Permissions, unlimited
from replication.metadata.image import ClusterImage
from replication.metadata.records import AccessControlEntryRecord
from replication.server.call import Caller


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
