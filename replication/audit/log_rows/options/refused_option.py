"""The error for an option that is wrong."""

from replication.errors import NotAllowedError


def refused_option(option: str, value: str | None, allowed: str) -> NotAllowedError:
    """Make the error that says what the option may be."""
    return NotAllowedError(f"option {option} of kafka-log", value, allowed)
