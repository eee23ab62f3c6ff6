"""Files that keep what recovery takes out of a log, for people to look at: Kafka and the log pass them over."""

from itertools import count
from pathlib import Path

from epoch.filesystem import FileSystem
from logstore.file_name import SET_ASIDE_SUFFIX
from logstore.offline.log_file import LogFile


class SetAside:
    """Puts them beside the segments; nothing removes them."""

    def __init__(self, directory: Path, filesystem: FileSystem) -> None:
        """Keep nothing yet."""
        self._directory = directory
        self._filesystem = filesystem

    def keep_bytes(self, path: Path, start: int, end: int) -> str:
        """Copy a file's bytes from `start` up to `end`, durably; return the name of the copy. Raises OSError."""
        target = self._free_name(f"{path.name}.{start}")
        with LogFile.open(path) as log:
            descriptor = self._filesystem.open(target, truncate=True)
            try:
                self._filesystem.write(descriptor, log.data[start:end])
                self._filesystem.fsync(descriptor)
            finally:
                self._filesystem.close(descriptor)
        self._filesystem.fsync_directory(self._directory)
        return target.name

    def keep_file(self, path: Path) -> str:
        """Give a whole file another name; the directory is the caller's to sync. Raises OSError."""
        target = self._free_name(path.name)
        self._filesystem.rename(path, target)
        return target.name

    def _free_name(self, name: str) -> Path:
        names = (f"{name}{'' if not number else f'.{number}'}{SET_ASIDE_SUFFIX}" for number in count())
        return next(path for path in map(self._directory.joinpath, names) if not path.exists())
