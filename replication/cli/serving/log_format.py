"""How the log of a command that runs for long is written."""

from enum import StrEnum


class LogFormat(StrEnum):
    """What a line of the log is."""

    TEXT = "text"
    """The time, and what happened."""
    JSON = "json"
    """An object, as with --json."""
