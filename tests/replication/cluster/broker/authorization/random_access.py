"""Random entries, and questions that hit some of them: from few names, of which many are prefixes of others."""

import random
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import AccessControlEntryRecord

NAMES: Final = ("*", "a", "ab", "abc", "abd", "b", "ba", "hard", "hardcode", "h", "kafka-cluster", "ä", "äb")
PRINCIPALS: Final = ("User:alice", "User:bob", "User:*", "Group:alice", "User:a:b", "User:CN=x,O=y")
ADDRESSES: Final = ("10.0.0.1", "10.0.0.2", "2001:db8::1", "::ffff:10.0.0.1")
HOSTS: Final = ("*", "*", "*", "10.0.0.1", "2001:db8:0:0:0:0:0:1", "2001:db8::1")
IMPLIED: Final = frozenset({Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS})


@dataclass(frozen=True)
class Question:
    """Whether a principal may do something with a resource, or, without a name, with any of a type."""

    principal: str
    address: str
    operation: Operation
    kind: ResourceType
    name: str | None


@dataclass(frozen=True)
class AccessCase:
    """Entries, settings, and what is asked about them."""

    super_users: str
    everyone: bool
    entries: tuple[AccessControlEntryRecord, ...]
    questions: tuple[Question, ...]

    def image(self) -> ClusterImage:
        image = ClusterImage()
        image.replay_all(self.entries)
        return image.frozen()

    def as_json(self) -> dict[str, Any]:
        """What AuthorizerOracle reads."""
        return {
            "super_users": self.super_users,
            "everyone": str(self.everyone).lower(),
            "entries": [_fields(each) for each in self.entries],
            "asked": [(each.principal, each.address, each.operation, each.kind, each.name) for each in self.questions],
        }


def access_case(chance: random.Random, questions: int) -> AccessCase:
    """A case in which some is allowed and some is not."""
    kinds = chance.sample(list(ResourceType), 2)
    operations = chance.sample(list(Operation), 5)
    few_denied = chance.choice((0.1, 0.5))
    said = {
        (
            chance.choice(kinds),
            chance.choice(NAMES),
            chance.choice((3, 3, 4)),
            chance.choice(PRINCIPALS),
            chance.choice(HOSTS),
            chance.choice(operations),
            2 if chance.random() < few_denied else 3,
        ): None
        for _ in range(chance.choice((0, 1, 3, 8, 20)))
    }  # each once: Kafka's controller writes none again, and its authorizer takes none
    entries = tuple(_entry(number, *each) for number, each in enumerate(said, 1))
    return AccessCase(
        super_users=chance.choice(("", "User:bob", " User:bob ;Group:alice;", "User:a:b")),
        everyone=chance.random() < 0.3,
        entries=entries,
        questions=tuple(_question(chance, kinds, operations) for _ in range(questions)),
    )


def _question(chance: random.Random, kinds: list[ResourceType], operations: list[Operation]) -> Question:
    kind = chance.choice(kinds) if chance.random() < 0.9 else chance.choice(list(ResourceType))
    operation = chance.choice(operations) if chance.random() < 0.7 else chance.choice(list(Operation))
    asker = chance.choice([each for each in PRINCIPALS if each != "User:*"]), chance.choice(ADDRESSES)
    of_all = operation is Operation.ALL or operation in IMPLIED
    name = chance.choice(NAMES)
    if name != "*":  # of longer names with a star first see test_an_entry_about_all_is_about_names_with_a_star_too
        name += chance.choice(("", "", "c", "d"))
    if chance.random() < 0.3 and not of_all:
        return Question(*asker, operation, kind, None)
    return Question(*asker, operation, kind, name)


def _entry(
    number: int, kind: int, name: str, pattern: int, principal: str, host: str, operation: int, permission: int
) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=UUID(int=number),
        resource_type=kind,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission,
    )


def _fields(entry: AccessControlEntryRecord) -> tuple[Any, ...]:
    return (
        entry.resource_type,
        entry.resource_name,
        entry.pattern_type,
        entry.principal,
        entry.host,
        entry.operation,
        entry.permission_type,
    )
