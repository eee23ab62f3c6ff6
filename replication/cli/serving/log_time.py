"""The time with which lines of a log begin."""

from datetime import UTC, datetime


def log_time(time_ms: int) -> str:
    """Give a time in milliseconds since 1970 UTC as lines of the log begin with it (ISO 8601, in UTC)."""
    at = datetime.fromtimestamp(time_ms // 1_000, UTC).replace(microsecond=time_ms % 1_000 * 1_000)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
