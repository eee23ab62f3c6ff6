"""What one caller may do."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from replication.cluster.broker.authorization.access_rules import AccessRules
from replication.cluster.broker.authorization.operation import EVERY_OPERATION, KNOWN_OPERATIONS, Operation
from replication.cluster.broker.authorization.resource_type import CLUSTER_NAME, ResourceType
from replication.wire.server.call import Caller


class Permissions(Protocol):
    """Answers questions about a caller, by what held when his request came."""

    @property
    def rules(self) -> AccessRules | None:
        """By what it answers; None where everything is permitted."""

    def may(self, operation: Operation, kind: ResourceType, name: str = CLUSTER_NAME) -> bool:
        """Whether he may do this with a resource."""

    def those(self, operation: Operation, kind: ResourceType, names: Sequence[str]) -> Sequence[str]:
        """Return those of the resources of these names with which he may do this, in their order."""

    def may_somewhere(self, operation: Operation, kind: ResourceType) -> bool:
        """Whether there can be a resource of a type with which he may do this."""

    def operations(self, kind: ResourceType, name: str = CLUSTER_NAME) -> int:
        """Return all that he may do with a topic, a group or the cluster, one bit for each operation."""


PermissionsOf: TypeAlias = Callable[[Caller], Permissions]


class GrantedPermissions(NamedTuple):
    """What the rules of a cluster say of a principal; two that are equal say the same."""

    rules: AccessRules
    principal: str
    host: str

    def may(self, operation: Operation, kind: ResourceType, name: str = CLUSTER_NAME) -> bool:
        """Whether he may do this with a resource."""
        return self.rules.operations(kind, name, self.principal, self.host) >> operation & 1 == 1

    def those(self, operation: Operation, kind: ResourceType, names: Sequence[str]) -> Sequence[str]:
        """Return those of the resources of these names with which he may do this, in their order."""
        return [name for name in names if self.may(operation, kind, name)]

    def may_somewhere(self, operation: Operation, kind: ResourceType) -> bool:
        """Whether there can be a resource of a type with which he may do this."""
        return self.rules.somewhere(operation, kind, self.principal, self.host)

    def operations(self, kind: ResourceType, name: str = CLUSTER_NAME) -> int:
        """Return all that he may do with a resource."""
        return self.rules.operations(kind, name, self.principal, self.host) & KNOWN_OPERATIONS[kind]


class UnlimitedPermissions:
    """Those of a super user, and of everybody where there is no authorizer."""

    rules: None = None

    def may(self, operation: Operation, kind: ResourceType, name: str = CLUSTER_NAME) -> bool:
        """Return True."""
        del self, operation, kind, name
        return True

    def those(self, operation: Operation, kind: ResourceType, names: Sequence[str]) -> Sequence[str]:
        """Return all of them."""
        del self, operation, kind
        return names

    def may_somewhere(self, operation: Operation, kind: ResourceType) -> bool:
        """Return True."""
        del self, operation, kind
        return True

    def operations(self, kind: ResourceType, name: str = CLUSTER_NAME) -> int:
        """Return all that can be done with a resource."""
        del self, name
        return EVERY_OPERATION & KNOWN_OPERATIONS[kind]


_UNLIMITED = UnlimitedPermissions()


def unlimited(_: Caller) -> Permissions:
    """Return what everybody may do who has not to be authorized: everything."""
    return _UNLIMITED
