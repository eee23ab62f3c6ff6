"""What a log was opened with: its directory and configuration, and the outside world that it uses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from epoch.filesystem import FileSystem
from logstore.log.log_observer import LogObserver
from logstore.log.observers.log_observers import LogObservers
from logstore.log.observers.logging_observer import LoggingObserver
from logstore.log_config import LogConfig
from logstore.segment.open_files import OpenFiles


@dataclass(slots=True)
class LogEnvironment:
    """Shared by all parts of a log."""

    directory: Path
    config: LogConfig
    filesystem: FileSystem
    clock: Callable[[], int]
    """Milliseconds since 1970 UTC."""
    observer: LogObserver | None
    """Told of appends and flushes, which pay nothing where there is none."""
    open_files: OpenFiles | None
    events: LogObserver = field(init=False)
    """Told what is rare: all but appends and flushes."""

    def __post_init__(self) -> None:
        self.events = LogObservers(LoggingObserver(), self.observer) if self.observer else LoggingObserver()
