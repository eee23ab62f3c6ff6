"""Deleted partition directories: renamed at once, removed after a delay (Kafka: LogManager.asyncDelete)."""

from pathlib import Path

from epoch.filesystem import REAL, FileSystem
from logstore.directory.lifecycle.marked_name import marked_name
from logstore.topic_partition import DirectoryMark


class DeletedPartitions:
    """The directories named `topic-partition.<id>-delete`, and when each is due to be removed (ms since 1970 UTC)."""

    def __init__(self, filesystem: FileSystem = REAL) -> None:
        """Begin with none."""
        self._filesystem = filesystem
        self._due: dict[Path, int] = {}

    def __len__(self) -> int:
        return len(self._due)

    def add(self, directory: Path, due_ms: int) -> None:
        """Add a directory that has already been renamed, as found at start-up."""
        self._due[directory] = due_ms

    def rename(self, directory: Path, due_ms: int, *, name: str | None = None) -> Path:
        """Rename a partition's directory, durably; `name` is its name without a mark. Raises OSError."""
        renamed = directory.with_name(marked_name(name or directory.name, DirectoryMark.DELETE))
        self._filesystem.rename(directory, renamed)
        self._filesystem.fsync_directory(directory.parent)
        self.add(renamed, due_ms)
        return renamed

    def remove_due(self, now_ms: int) -> int:
        """Remove the directories that are due; return how many. Raises OSError, the directory stays listed."""
        due = [directory for directory, due_ms in self._due.items() if due_ms <= now_ms]
        for directory in due:
            if directory.exists():
                self._filesystem.remove_tree(directory)
            del self._due[directory]
        return len(due)
