"""Producers' snapshots that are taken and removed in memory alone."""

from pathlib import Path

from epoch.filesystem import FileSystem


class UnwrittenFiles(FileSystem):
    """Does nothing, and says that it was done: for a `ProducerState` that is over before it reads one of its own."""

    def open(self, path: Path, *, truncate: bool = False) -> int:
        """Open nothing."""
        del path, truncate
        return -1

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        """Write nothing."""

    def fsync(self, descriptor: int) -> None:
        """Sync nothing."""

    def close(self, descriptor: int) -> None:
        """Close nothing."""

    def unlink(self, path: Path) -> None:
        """Remove nothing."""
