"""The access control entries of a cluster, arranged so that a question looks only at those that could answer it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from replication.cluster.broker.authorization.operation import EVERY_OPERATION, Operation
from replication.records.metadata.records import AccessControlEntryRecord
from replication.records.metadata.security_names import PREFIXED

ANY: Final = "*"
"""Every host, or every resource of a type."""
EVERYBODY: Final = "User:*"
_LITERAL: Final = 3
_DENY: Final = 2
_ALLOW: Final = 3
_IMPLIED: Final = {
    **dict.fromkeys((Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER), 1 << Operation.DESCRIBE),
    Operation.ALTER_CONFIGS: 1 << Operation.DESCRIBE_CONFIGS,
}
"""What else he may do who may do this; who is denied this is denied nothing else."""
_MOST_ANSWERS: Final = 50_000
"""That are remembered: some megabytes."""
_ANY_NAME: Final = "hardcode"
"""A resource that Kafka asks about where it looks for any: it may be that nothing is said of it."""


class _Rights(NamedTuple):
    """What entries say together, as sets of operations."""

    allowed: int = 0
    denied: int = 0

    def __or__(self, other: "_Rights") -> "_Rights":
        return _Rights(self.allowed | other.allowed, self.denied | other.denied)


_Grants: TypeAlias = dict[tuple[str, str], _Rights]
"""By principal and host."""
_NONE: Final = _Rights()


class _Patterns:
    """The entries of one type of resource, by the names that they are about."""

    def __init__(self) -> None:
        self.literal: dict[str, _Grants] = {}
        self.prefixed: dict[str, _Grants] = {}
        self.lengths: tuple[int, ...] = ()
        """Of the prefixes that there are."""

    def about(self, name: str) -> Iterator[_Grants]:
        """Yield the entries about a resource."""
        for key in (name, ANY):
            found = self.literal.get(key)
            if found is not None:
                yield found
        yield from self.about_prefixes(name)

    def about_prefixes(self, name: str) -> Iterator[_Grants]:
        """Yield the entries about all that begins as this name does."""
        size = len(name)
        for length in self.lengths:
            if length > size:
                return
            found = self.prefixed.get(name[:length])
            if found is not None:
                yield found


class AccessRules:
    """Answers as Kafka's StandardAuthorizer does: what is denied is denied, whatever is allowed.

    What has been answered once is remembered, as rules never change: a changed cluster has others.
    """

    def __init__(self, entries: Iterable[AccessControlEntryRecord], *, otherwise: int = 0) -> None:
        """Create rules from all entries; `otherwise` is what everybody may do where no entry applies."""
        self._otherwise = otherwise
        self._answers: dict[tuple[int, str, str, str], int] = {}
        self._somewhere: dict[tuple[int, int, str, str], bool] = {}
        self._by_type: defaultdict[int, _Patterns] = defaultdict(_Patterns)
        for entry in entries:
            self._add(entry)
        for patterns in self._by_type.values():
            patterns.lengths = tuple(sorted({len(prefix) for prefix in patterns.prefixed}))

    def operations(self, kind: int, name: str, principal: str, host: str) -> int:
        """Return the set of what a principal may do from a host with a resource of this type and name."""
        key = (kind, name, principal, host)
        known = self._answers.get(key)
        if known is None:
            known = self._look(kind, name, _who(principal, host))
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            self._answers[key] = known
        return known

    def somewhere(self, operation: Operation, kind: int, principal: str, host: str) -> bool:
        """Whether there can be any resource of a type with which a principal may do this, which no other implies.

        Kafka: Authorizer.authorizeByResourceType.
        """
        key = (operation, kind, principal, host)
        known = self._somewhere.get(key)
        if known is None:
            known = self._look_everywhere(1 << operation, kind, principal, host)
            if len(self._somewhere) >= _MOST_ANSWERS:
                self._somewhere.clear()
            self._somewhere[key] = known
        return known

    def _add(self, entry: AccessControlEntryRecord) -> None:
        patterns = self._by_type[entry.resource_type]
        if entry.pattern_type not in {_LITERAL, PREFIXED} or entry.permission_type not in {_ALLOW, _DENY}:
            return
        by_name = patterns.prefixed if entry.pattern_type == PREFIXED else patterns.literal
        grants = by_name.setdefault(entry.resource_name, {})
        key = (entry.principal, entry.host)
        grants[key] = grants.get(key, _NONE) | _rights(entry)

    def _look(self, kind: int, name: str, who: tuple[tuple[str, str], ...]) -> int:
        patterns = self._by_type.get(kind)
        rights, is_anything_said = _NONE, False
        for grants in () if patterns is None else patterns.about(name):
            is_anything_said = True
            rights |= _of(grants, who)
        return rights.allowed & ~rights.denied if is_anything_said else self._otherwise

    def _look_everywhere(self, bit: int, kind: int, principal: str, host: str) -> bool:
        if self.operations(kind, _ANY_NAME, principal, host) & bit:
            return True
        patterns, who = self._by_type.get(kind), _who(principal, host)
        if patterns is None:
            return False
        every = _of(patterns.literal.get(ANY, {}), who)
        if (every.allowed | every.denied) & bit:
            return not every.denied & bit
        literal = (name for name, grants in patterns.literal.items() if _is_open(grants, who, bit))
        prefixed = (name for name, grants in patterns.prefixed.items() if _of(grants, who).allowed & bit)
        return any(
            not any(_of(grants, who).denied & bit for grants in patterns.about_prefixes(name))
            for names in (literal, prefixed)
            for name in names
        )


def _who(principal: str, host: str) -> tuple[tuple[str, str], ...]:
    return (principal, host), (principal, ANY), (EVERYBODY, host), (EVERYBODY, ANY)


def _of(grants: _Grants, who: tuple[tuple[str, str], ...]) -> _Rights:
    rights = _NONE
    for key in who:
        found = grants.get(key)
        if found is not None:
            rights |= found
    return rights


def _is_open(grants: _Grants, who: tuple[tuple[str, str], ...], bit: int) -> bool:
    rights = _of(grants, who)
    return bool(rights.allowed & ~rights.denied & bit)


def _rights(entry: AccessControlEntryRecord) -> _Rights:
    if entry.operation == Operation.ALL:
        named = implied = EVERY_OPERATION
    else:
        named = 1 << entry.operation
        implied = named | _IMPLIED.get(entry.operation, 0)  # type: ignore[call-overload]
    return _Rights(implied, 0) if entry.permission_type == _ALLOW else _Rights(0, named)
