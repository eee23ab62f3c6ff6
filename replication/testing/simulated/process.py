"""A process of a simulated cluster: it may be paused, and it ends."""

from collections.abc import Callable
from functools import partial
from typing import Final

from replication.testing.simulated.timeline import Deed, Timeline


class Process:
    """What it has yet to do waits while it is paused, and is forgotten when it ends."""

    def __init__(self, timeline: Timeline) -> None:
        """Create a process that is alive."""
        self.is_alive: bool = True
        self.is_paused: bool = False
        self._timeline: Final = timeline
        self._held: Final[list[Deed]] = []

    @property
    def now_ms(self) -> int:
        """What its clock says."""
        return self._timeline.now_ms

    def after(self, milliseconds: int, do: Deed) -> None:
        """Do something so much later."""
        self._timeline.after(milliseconds, partial(self.do, do))

    def do(self, do: Deed) -> None:
        """Do something now; once it goes on, where it is paused; not at all where it has ended."""
        if self.is_paused:
            self._held.append(do)
        elif self.is_alive:
            do()

    def pause(self) -> None:
        """Do nothing for now."""
        self.is_paused = True

    def resume(self) -> None:
        """Go on with all that was held up."""
        self.is_paused = False
        for do in self._held:
            self.after(0, do)
        self._held.clear()

    def end(self) -> None:
        """Do nothing any more."""
        self.is_alive = self.is_paused = False
        self._held.clear()


class Alarm:
    """Schedules one thing at a time in a process, which may be moved."""

    def __init__(self, process: Process, do: Callable[[], object]) -> None:
        """Do nothing yet."""
        self._process: Final = process
        self._do: Final = do
        self._turn = 0
        self._at: int | None = None

    def set(self, at_ms: int | None) -> None:
        """Do it at that time, and not when it was to be done before; None: not at all."""
        if at_ms == self._at:
            return
        self._at = at_ms
        self._turn += 1
        if at_ms is not None:
            self._process.after(at_ms - self._process.now_ms, partial(self._ring, self._turn))

    def set_in(self, milliseconds: int) -> None:
        """Do it so much later, and not when it was to be done before."""
        self.set(self._process.now_ms + milliseconds)

    def _ring(self, turn: int) -> None:
        if turn == self._turn:
            self._at = None
            self._do()
