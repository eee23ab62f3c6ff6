"""The file that marks a log that has followed other leaders.

Kafka does not mind it. By its epochs alone a log that is opened again does not know which of them it led itself.
"""

from pathlib import Path
from typing import Final

from epoch.filesystem import FileSystem

FOLLOWED_MARK: Final = ".epochlog-followed"
_TEXT: Final = b"This log has followed other leaders: who appends to it says in which leader epoch.\n"


def is_followed(directory: Path) -> bool:
    """Whether the log of a directory has the mark. Raises OSError."""
    return (directory / FOLLOWED_MARK).exists()


def mark_followed(directory: Path, filesystem: FileSystem) -> None:
    """Mark the log of a directory, durably. Raises OSError."""
    filesystem.write_atomically(directory / FOLLOWED_MARK, _TEXT)
