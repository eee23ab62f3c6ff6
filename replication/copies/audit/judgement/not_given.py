"""Brokers that have replicas by the cluster's metadata, and whose directories are not among those that were named."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from replication.base.counted import counted
from replication.base.json_object import Json
from replication.copies.audit.judgement.elected import complete_at_hand, is_told
from replication.copies.audit.judgement.wording import name_of, some


@dataclass(frozen=True, slots=True)
class NotGiven:
    """One such broker. What it has was not read."""

    broker: int
    partitions: list[str] = field(default_factory=list)
    """Those at hand of which it has a replica."""
    undecided: list[str] = field(default_factory=list)
    """Those of them of which no copy that is known to have everything is at hand."""

    def as_json(self) -> dict[str, Any]:
        """Return it as `epochlog incident --json` prints it."""
        return {"broker": self.broker, "partitions": self.partitions, "undecided": self.undecided}

    def __str__(self) -> str:
        count = counted(len(self.partitions), "partition")
        told = f"Broker {self.broker} has replicas of {count} and was not given: what it has was not read, and may be "
        told += "more than the copies here have"
        if self.undecided:
            told += f". No copy here is known to have everything of {some(self.undecided)}"
        return f"{told}."


def not_given(document: Json) -> list[NotGiven]:
    """Name them, from the object that `epochlog audit --json` prints.

    >>> [str(each) for each in not_given(document)]
    ['Broker 3 has replicas of 9 partitions and was not given: what it has was not read, and may be more than ...']
    """
    names = {each["node_id"]: each["name"] for each in document["snapshots"] if each["node_id"] is not None}
    found: dict[int, NotGiven] = {}
    for partition in filter(is_told, document["partitions"]):
        is_decided = bool(complete_at_hand(partition))
        for broker in partition["election"]["replicas"]:
            if broker not in names:
                each = found.setdefault(broker, NotGiven(broker))
                each.partitions.append(name_of(partition))
                each.undecided.extend([] if is_decided else [name_of(partition)])
    return [found[broker] for broker in sorted(found)]


def unread_in_words(brokers: Sequence[NotGiven]) -> Iterator[str]:
    """Yield whose records were not counted, if there may be any that decide something.

    >>> [*unread_in_words(not_given(document))]
    ['what only broker 3 has, which was not read']
    """
    if unread := [f"broker {each.broker}" for each in brokers if each.undecided]:
        *first, last = unread
        whose = f"{', '.join(first)} or {last} has" if first else f"{last} has"
        yield f"what only {whose}, which was not read"
