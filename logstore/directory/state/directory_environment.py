"""What a log directory was opened with: its root and settings, and the outside world that it uses."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from epoch.filesystem import FileSystem
from logstore.directory.directory_settings import DirectorySettings
from logstore.files.only_copy.space_reserve import SpaceReserve
from logstore.log.observers.log_observer import LogObserver
from logstore.log_config import LogConfig
from logstore.recovery.damage_policy import Damage
from logstore.topic_partition import TopicPartition

T = TypeVar("T")


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
    replicated_of: Callable[[TopicPartition], bool]
    """Whether other nodes have copies of a log: see `Log.open`."""
    damage_of: Callable[[TopicPartition], Damage]
    """What becomes of a log that is damaged."""
    check_all: bool
    """Whether each batch is checked as the logs are opened with the root: see `Log.open`."""
    reserve: SpaceReserve | None
    """Space for what a full disk must not prevent; where other nodes have copies of all logs there is none."""

    def insist(self, call: Callable[[], T]) -> T:
        """Call, again where the disk is full, in that space. Raises OSError."""
        return call() if self.reserve is None else self.reserve.spend(call)
