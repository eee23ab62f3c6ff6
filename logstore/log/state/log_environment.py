"""What a log was opened with: its directory and configuration, and the outside world that it uses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from epoch.filesystem import FileSystem
from logstore.log.log_observer import LogObserver
from logstore.log.observers.log_observers import LogObservers, hears
from logstore.log.observers.logging_observer import LoggingObserver
from logstore.log_config import MAX_INT64, LogConfig
from logstore.recovery.damage_policy import DamagePolicy
from logstore.segment.open_files import OpenFiles


def ignore_shortage(_: OSError) -> None:
    """Take no notice of a full disk."""


@dataclass(slots=True)
class LogEnvironment:
    """Shared by all parts of a log."""

    directory: Path
    config: LogConfig
    filesystem: FileSystem
    clock: Callable[[], int]
    """Milliseconds since 1970 UTC."""
    observer: LogObserver | None
    """Told of all that happens; see `writes` and `events`."""
    open_files: OpenFiles | None
    out_of_space: Callable[[OSError], object] = ignore_shortage
    """Called with each error of a full disk, by whoever meets it, with the log's lock held."""
    damage: DamagePolicy = DamagePolicy.RAISE
    writes: LogObserver | None = field(init=False)
    """Told of appends and flushes, which pay nothing where nobody listens to them."""
    events: LogObserver = field(init=False)
    """Told what is rare: all but appends and flushes."""
    accepts_unchanged: bool = field(init=False)
    """`LogConfig.accepts_unchanged`, which each append asks for."""
    flushes_by_count: bool = field(init=False)
    """Whether appends flush once `flush_messages` are not on stable storage."""

    def __post_init__(self) -> None:
        self.configure(self.config)
        listens = self.observer is not None and any(hears(self.observer, event) for event in ("appended", "flushed"))
        self.writes = self.observer if listens else None
        self.events = LogObservers(LoggingObserver(), self.observer) if self.observer else LoggingObserver()

    def configure(self, config: LogConfig) -> None:
        """Take another configuration."""
        self.config = config
        self.accepts_unchanged = config.accepts_unchanged
        self.flushes_by_count = config.flush_messages < MAX_INT64
