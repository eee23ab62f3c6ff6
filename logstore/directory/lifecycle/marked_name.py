"""Names of directories that hold no live log."""

from typing import Final
from uuid import uuid4

from logstore.topic_partition import DirectoryMark

_MAX_NAME: Final = 255
"""Characters of a file name."""


def marked_name(name: str, mark: DirectoryMark) -> str:
    """Return a new name of that mark for the directory of a partition, whose own name is cut where it is too long."""
    suffix = f".{uuid4().hex}-{mark.value}"
    return name[: _MAX_NAME - len(suffix)] + suffix
