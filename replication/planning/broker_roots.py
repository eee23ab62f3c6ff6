"""Which log.dirs roots are the disks of one broker."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from logstore.topic_partition import TopicPartition

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OwnedRoot(Generic[T]):
    """A root, with what tells whose it is."""

    root: T
    place: str
    """Where it is: no other root is there."""
    node_id: int | None
    held: Collection[TopicPartition]


def by_broker(roots: Sequence[OwnedRoot[T]]) -> list[list[T]]:
    """Tell brokers' directories, in one that holds them all, from the disks of one.

    Several roots with one node.id, or none, are of one broker; with different ones, or without any and with the same
    partitions in them, each is a broker's. Whose a root is that does not say so is not guessed.
    """
    known = {each.node_id for each in roots} - {None}
    held = Counter(partition for each in roots for partition in set(each.held))
    if len(known) <= 1 and (known or max(held.values(), default=0) <= 1):
        return [[each.root for each in roots]]
    brokers: dict[object, list[T]] = {}
    for each in roots:
        brokers.setdefault(each.place if each.node_id is None else each.node_id, []).append(each.root)
    return list(brokers.values())
