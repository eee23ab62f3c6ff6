"""Which log.dirs roots are the disks of one broker."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Generic, TypeVar

from logstore.topic_partition import TopicPartition

T = TypeVar("T")

LEVELS: Final = 2
"""How far below a directory that is named roots are looked for: a volume may hold one, such as data-0/kafka-log1."""
FILE_SYSTEMS_OWN: Final = "lost+found"
"""A directory that file systems make for themselves, and that only root may list."""
KEPT: Final = ".kept"
"""Ends the name of a backup, beside the directory that it is of."""
NEW: Final = ".new"
"""Ends the name of a copy from after a recovery."""


@dataclass(frozen=True, slots=True)
class OwnedRoot(Generic[T]):
    """A root, with what shows whose it is."""

    root: T
    place: str
    """Where it is: no other root is there."""
    node_id: int | None
    held: Collection[TopicPartition]
    cluster_id: str | None = None
    directory_id: str | None = None


def looked_into(names: Iterable[str]) -> set[str]:
    """Choose in which directories of one directory roots are looked for.

    Not in what the runbook of an incident has copied to beside a directory that is there too: it is the same broker.

    >>> sorted(looked_into(["broker-1", "broker-1.kept", "broker-1.new", "broker-2.kept"]))
    ['broker-1', 'broker-2.kept']
    """
    there = {*names} - {FILE_SYSTEMS_OWN}
    return there - {f"{name}{ending}" for name in there for ending in (KEPT, NEW)}


def by_broker(roots: Sequence[OwnedRoot[T]]) -> list[list[T]]:
    """Group roots by broker: in a directory of several, they may be brokers', or the disks of one.

    Several roots with one node.id, in one cluster, are of one broker, with different ones each is a broker's. A second
    copy of a root, by its directory.id, is a broker's of its own. One that does not say whose it is belongs to the only
    broker that is named, or to the others that do not say it, unless another root holds one of its partitions too: then
    it is a broker's of its own.
    """
    known = {_owner(each) for each in roots} - {None}
    held = Counter(partition for each in roots for partition in set(each.held))
    is_guessed = len(known) <= 1 and (known or max(held.values(), default=0) <= 1)
    brokers: dict[object, list[T]] = {}
    directories: set[tuple[object, str]] = set()
    for each in roots:
        owner = _owner(each)
        is_alone = not is_guessed or any(held[partition] > 1 for partition in each.held)
        unnamed = each.place if is_alone else next(iter(known), None)
        key: object = unnamed if owner is None else owner
        if each.directory_id is not None:
            key = each.place if (key, each.directory_id) in directories else key
            directories.add((key, each.directory_id))
        brokers.setdefault(key, []).append(each.root)
    return list(brokers.values())


def are_of_one_broker(roots: Sequence[OwnedRoot[T]]) -> bool:
    """Whether roots that were named one by one are the disks of one broker, rather than copies of one disk.

    They have one node.id in one cluster, and each a directory.id of its own; of those that have none, as before
    Kafka 3.7, no two may hold the same partition.
    """
    owners = {_owner(each) for each in roots}
    return len(owners) == 1 and None not in owners and not any(_may_be_one(*pair) for pair in combinations(roots, 2))


def _may_be_one(one: OwnedRoot[T], other: OwnedRoot[T]) -> bool:
    if one.directory_id is not None and other.directory_id is not None:
        return one.directory_id == other.directory_id
    return not set(one.held).isdisjoint(other.held)


def _owner(root: OwnedRoot[T]) -> tuple[str | None, int] | None:
    return None if root.node_id is None else (root.cluster_id, root.node_id)
