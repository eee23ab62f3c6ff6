"""How `epochlog mirror` shows what goes on: a live table on a terminal, lines of a log in a pipe, or lines of JSON."""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from heapq import nlargest
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from logstore.clock import now_ms
from replication.cli.output.printing import OutputError, complain, print_json_line, shown
from replication.cli.serving.log_format import LogFormat
from replication.cli.serving.log_time import log_time
from replication.cluster.mirror.events import Event, Failed, Truncated
from replication.cluster.mirror.progress import Progress
from replication.cluster.mirror.status import PartitionStatus

if TYPE_CHECKING:
    from rich.table import Table

QUIET_MS = 10_000
"""How often lines in a pipe report progress."""
DRAWN_MS = 500
"""How often the terminal does, at most."""
ROWS = 12
"""Partitions on the terminal: those that are furthest behind."""


Statuses = Callable[[], Sequence[PartitionStatus]]
"""Returns the state of all partitions: with many this takes a while, so it is called only when it is shown."""


class Display(Protocol):
    """Receives events from several threads, and from time to time the state of all partitions.

    Only `show` raises OutputError: the threads that report events have logs to follow.
    """

    def tell(self, event: Event) -> None:
        """Show what happened."""
        ...

    def show(self, statuses: Statuses, *, last: bool = False) -> None:
        """Show how things stand; `last` at the end."""
        ...

    def close(self) -> None:
        """Show nothing more."""
        ...


def display_for(log_format: LogFormat | None) -> Display:
    """Choose by the format, or without one by where the output goes."""
    if log_format is LogFormat.JSON:
        return JsonDisplay()
    return TerminalDisplay() if log_format is None and sys.stdout.isatty() else PlainDisplay()


class Looks:
    """Looks at all partitions from time to time, and rarely enough that it costs a hundredth of the time at most."""

    def __init__(self, every_ms: int) -> None:
        self._every_ms = every_ms
        self._due_ms = 0
        self.statuses: Sequence[PartitionStatus] = ()
        self.progress: Progress | None = None

    def take(self, statuses: Statuses, *, now_it_must: bool) -> bool:
        """Look, if it is time; return whether it was."""
        begun = now_ms()
        if begun < self._due_ms and not now_it_must:
            return False
        self.statuses = statuses()
        self.progress = Progress.of(self.statuses, begun, self.progress)
        self._due_ms = begun + max(self._every_ms, 100 * (now_ms() - begun))
        return True


class PlainDisplay:
    """One line for each event, and one every ten seconds, each after its time; failures go to standard error."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._looks = Looks(QUIET_MS)

    def tell(self, event: Event) -> None:
        """Print the event."""
        with self._lock, suppress(OutputError):
            if isinstance(event, Failed):
                complain(str(event), at=log_time(now_ms()))
            else:
                self._print(now_ms(), str(event))

    def show(self, statuses: Statuses, *, last: bool = False) -> None:
        """Print how far it is, if some time has passed and something has changed."""
        before = self._looks.progress
        if not self._looks.take(statuses, now_it_must=last):
            return
        progress = self._looks.progress
        if progress is not None and (last or before is None or _news(progress) != _news(before)):
            with self._lock:
                self._print(progress.time_ms, str(progress))

    def close(self) -> None:
        """Nothing is open."""

    @staticmethod
    def _print(time_ms: int, line: str) -> None:
        print(shown(f"{log_time(time_ms)} {line}"), flush=True)


def _news(progress: Progress) -> tuple[int, ...]:
    return progress.partitions, progress.bytes, progress.lag, progress.lagging, progress.failed, progress.truncations


class JsonDisplay:
    """One object a line, each with its `event` and `time`, in milliseconds."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._looks = Looks(QUIET_MS)

    def tell(self, event: Event) -> None:
        """Print the event."""
        with suppress(OutputError):
            self._print({"event": event.event, "time": now_ms(), **event.as_json()})

    def show(self, statuses: Statuses, *, last: bool = False) -> None:
        """Print how far it is."""
        if self._looks.take(statuses, now_it_must=last) and self._looks.progress is not None:
            progress = self._looks.progress
            self._print({"event": "progress", "time": progress.time_ms, **progress.as_json()})

    def close(self) -> None:
        """Nothing is open."""

    def _print(self, document: dict[str, object]) -> None:
        with self._lock:
            print_json_line(document)


class TerminalDisplay:
    """A table of the partitions that are furthest behind, below the lines that report what happened."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console()
        self._live = Live(console=self._console, transient=True, auto_refresh=False)
        self._live.start()
        self._looks = Looks(DRAWN_MS)

    def tell(self, event: Event) -> None:
        """Print the event above the table."""
        style = {Failed: "red", Truncated: "yellow"}.get(type(event), "")
        with suppress(OutputError):
            line = f"{log_time(now_ms())} {event}"
            self._console.print(shown(line), style=style, markup=False, highlight=False)

    def show(self, statuses: Statuses, *, last: bool = False) -> None:
        """Draw the table anew; at the end only the line below it stays."""
        if not self._looks.take(statuses, now_it_must=last) or self._looks.progress is None:
            return
        if last:
            self.close()
            self._console.print(str(self._looks.progress), highlight=False)
        else:
            self._live.update(_table(self._looks.statuses, self._looks.progress), refresh=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._live.stop()


def _table(statuses: Sequence[PartitionStatus], progress: Progress) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(caption=str(progress), caption_justify="left")
    for name in ("partition", "leader epoch", "log end", "lag", "state"):
        table.add_column(name, justify="left" if name in {"partition", "state"} else "right", overflow="fold")
    for each in nlargest(ROWS, statuses, key=_urgency):
        state = f"{each.phase}: {each.reason}" if each.reason else each.phase
        lag = "?" if each.lag is None else f"{each.lag:,}"
        cells = (str(each.partition), str(each.leader_epoch), f"{each.log_end_offset:,}", lag, shown(state))
        table.add_row(*map(Text, cells))
    return table


def _urgency(status: PartitionStatus) -> tuple[bool, int]:
    return status.failed, -1 if status.lag is None else status.lag
