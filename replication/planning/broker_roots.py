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

    Several roots with one node.id are of one broker, with different ones each is a broker's. One that does not say
    whose it is belongs to the only broker that is named, or to the others that do not say it, unless another root holds
    one of its partitions too: then it is a broker's of its own.
    """
    known = {each.node_id for each in roots} - {None}
    held = Counter(partition for each in roots for partition in set(each.held))
    is_guessed = len(known) <= 1 and (known or max(held.values(), default=0) <= 1)
    brokers: dict[object, list[T]] = {}
    for each in roots:
        is_alone = not is_guessed or any(held[partition] > 1 for partition in each.held)
        unnamed = each.place if is_alone else next(iter(known), None)
        brokers.setdefault(unnamed if each.node_id is None else each.node_id, []).append(each.root)
    return list(brokers.values())
