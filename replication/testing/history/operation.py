"""What a client did, and what came of it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

Value: TypeAlias = str | int
Outcome: TypeAlias = Literal["ok", "failed", "unknown"]
"""Whether an operation took effect: "failed" only where it surely did not, as after an abort."""


class Sent(NamedTuple):
    """A record that was sent: each value goes to a partition once, so that a read says which record it saw."""

    partition: str
    offset: int | None
    """None where no answer said it."""
    value: Value


class Polled(NamedTuple):
    """A record that a consumer was given."""

    partition: str
    offset: int
    value: Value


class Operation(NamedTuple):
    """One step of one client: what it sent, all or nothing, and what it was given, in order in each partition.

    A transaction is one operation; without transactions each record that is sent is one.
    """

    process: Value = 0
    """Whose step it was: a process's operations are in the order in which it made them."""
    sent: Sequence[Sent] = ()
    polled: Sequence[Polled] = ()
    outcome: Outcome = "ok"
    assigned: bool = False
    """What was polled may begin anywhere: before it, partitions were assigned, or positions set."""

    def to_json(self) -> dict[str, object]:
        """Return what stands on a line of a file: records as offset and value, by their partition."""
        told: dict[str, object] = {"process": self.process, "outcome": self.outcome}
        told |= {"sent": _by_partition(self.sent)} if self.sent else {}
        told |= {"polled": _by_partition(self.polled)} if self.polled else {}
        return told | ({"assigned": True} if self.assigned else {})


def _by_partition(records: Iterable[Sent | Polled]) -> dict[str, list[list[Value | None]]]:
    found = defaultdict[str, list[list[Value | None]]](list)
    for each in records:
        found[each.partition].append([each.offset, each.value])
    return dict(found)
