"""What a log directory was opened with: its root and settings, and the outside world that it uses."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from epoch.filesystem import FileSystem
from logstore.directory.directory_settings import DirectorySettings
from logstore.log.log_observer import LogObserver
from logstore.log_config import LogConfig
from logstore.recovery.damage_policy import Damage
from logstore.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class DirectoryEnvironment:
    """Shared by all parts of a log directory."""

    root: Path
    config_of: Callable[[TopicPartition], LogConfig]
    settings: DirectorySettings
    filesystem: FileSystem
    clock: Callable[[], int]
    """Milliseconds since 1970 UTC."""
    observer: LogObserver | None
    replicated: bool = False
    """Whether other nodes have copies of the logs: see `Log.open`."""
    damage: Damage = "raise"
