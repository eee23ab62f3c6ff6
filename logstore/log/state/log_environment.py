"""What a log was opened with: its directory and configuration, and the outside world that it uses."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from epoch.filesystem import FileSystem
from logstore.log.log_observer import LogObserver
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
    open_files: OpenFiles | None
