"""A request whose answer waits for other members of the group."""

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from logstore.log.state.waiters import Waiter
from replication.cluster.broker.groups.awaited import Awaited
from replication.cluster.broker.groups.coordinator import GroupCoordinator

T = TypeVar("T")
_APART_SECONDS: Final = 0.002
_MOST_APART_SECONDS: Final = 5.0


class Waiting(Generic[T]):
    """A `Pending` that lets time pass for its group; the member stays in the group if nobody waits any more."""

    def __init__(
        self, coordinator: GroupCoordinator, group_id: str, awaited: Awaited[T], written: Callable[[T], Any]
    ) -> None:
        """`written` makes the answer of the result for the member."""
        self._coordinator = coordinator
        self._group_id = group_id
        self._awaited = awaited
        self._written = written

    @property
    def deadline(self) -> float:
        """When something may happen in the group that no member brings about.

        The first that waits brings it about for all: thousands that look at once would keep everybody else waiting.
        """
        apart = min(self._awaited.place * _APART_SECONDS, _MOST_APART_SECONDS)
        return self._coordinator.deadline(self._group_id) + apart

    def attend(self, waiter: Waiter) -> None:
        """Wake the waiter once there is an answer."""
        self._awaited.waiters.add(waiter)

    def leave(self, waiter: Waiter) -> None:
        """Wake it no more."""
        self._awaited.waiters.remove(waiter)

    def answer(self) -> Any | None:
        """Return the answer, or None as long as there is none."""
        value = self._awaited.value
        return None if value is None else self._written(value)

    def expire(self) -> Any | None:
        """Advance time for the group; return the answer if that has brought it about."""
        self._coordinator.expire(self._group_id)
        return self.answer()
