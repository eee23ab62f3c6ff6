"""What an audit of running brokers reads next, and when it gives up: decisions only."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

FIRST_PAUSE: Final = 0.1
"""Seconds between the first two passes; twice as many before each further one."""
LONGEST_PAUSE: Final = 5.0

Troubles = frozenset[tuple[str | None, ...]]
"""What is wrong, by names that stay the same as long as it is."""
NOTHING_WRONG: Final[Troubles] = frozenset()


@dataclass(frozen=True, slots=True)
class LivePass:
    """What to read next."""

    number: int
    """1 for the first."""
    pause: float
    """Seconds to wait before it: what moves may stand still by then."""
    due: frozenset[int]
    """The numbers of the tasks."""


class LivePasses:
    """Has all tasks done once, then again those that are not settled, until all are or there is no patience left.

    A task is settled that was done while nothing moved. What was found wrong has to be found twice in a row: a broker
    that elects, truncates or makes a replica is for some milliseconds on its way from one sound state to another.

    >>> passes = LivePasses(range(2), patience=60)
    >>> passes.next(now=0).due
    frozenset({0, 1})
    >>> passes.note(0, moved=False), passes.note(1, moved=True)
    (None, None)
    >>> passes.next(now=7).due
    frozenset({1})
    """

    def __init__(self, tasks: Iterable[int], patience: float) -> None:
        """Begin with all tasks; `patience` is for how many seconds after the first pass another one may begin."""
        self._patience = patience
        self._deadline: float | None = None
        self._pause = FIRST_PAUSE
        self._unsettled = set(tasks)
        self._troubles: dict[int, Troubles] = {}
        """Of the tasks that were done last while nothing moved."""
        self.reads: Counter[int] = Counter()
        """How often each task was done."""
        self.number = 0
        """Of the last pass."""

    @property
    def unsettled(self) -> frozenset[int]:
        """The tasks that are to be done again, or for the first time."""
        return frozenset(self._unsettled)

    def next(self, now: float) -> LivePass | None:
        """Return what to read next, the pass before being over; None where that is nothing. `now` is in seconds."""
        if self.number and self._deadline is None:
            self._deadline = now + self._patience
        left = 0.0 if self._deadline is None else self._deadline - now
        if not self._unsettled or (self.number and left <= 0):
            return None
        pause = 0.0
        if self.number:
            pause, self._pause = min(self._pause, left), min(2 * self._pause, LONGEST_PAUSE)
            if pause == left:
                self._deadline = now  # this pass is the last one
        self.number += 1
        return LivePass(self.number, pause, self.unsettled)

    def note(self, task: int, *, moved: bool, troubles: Troubles = NOTHING_WRONG) -> None:
        """Note a task's result: whether anything moved while it was done, and if not, what was found wrong."""
        self.reads[task] += 1
        if moved:
            self._troubles.pop(task, None)
        elif troubles in (NOTHING_WRONG, self._troubles.get(task)):
            self._unsettled.discard(task)
        else:
            self._troubles[task] = troubles
