"""The smallest operations that still show what is asked for."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from replication.testing.history.operation import Operation

_Item = TypeVar("_Item")
Shows = Callable[[Sequence[Operation]], bool]


def smallest(operations: Sequence[Operation], shows: Shows) -> list[Operation]:
    """Leave out operations, records and assignments as long as the rest still shows it."""
    found = list(operations)
    while smaller := next((each for each in _smaller(found) if shows(each)), None):
        found = smaller
    return found


def _smaller(operations: list[Operation]) -> Iterator[list[Operation]]:
    """Yield operations with less in them, those with least first."""
    for number, operation in enumerate(operations):
        before, after = operations[:number], operations[number + 1 :]
        yield before + after
        for less in _less(operation):
            yield [*before, less, *after]


def _less(operation: Operation) -> Iterator[Operation]:
    for sent in _parts(operation.sent):
        yield operation._replace(sent=sent)
    for polled in _parts(operation.polled):
        yield operation._replace(polled=polled)
    if operation.assigned:
        yield operation._replace(assigned=False)


def _parts(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    """Yield a sequence without all of it, without a half, a quarter and so on, down to without one item."""
    size = len(items)
    while size:
        for start in range(0, len(items), size):
            yield [*items[:start], *items[start + size :]]
        size //= 2
