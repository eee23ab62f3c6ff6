"""A finding about a replica's files: damage, a warning, or information."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final

from logstore.shown_text import shown
from logstore.topic_partition import TopicPartition

UNREADABLE: Final = "file-unreadable"
"""The kind of what could not be looked at, which is not damage."""

CURE: Final = "take the partition from another replica"
"""What helps against damage to a log that no other file of the replica can mend."""


class Severity(StrEnum):
    """How much a finding matters, the worst first."""

    CRITICAL = "critical"
    """Records that had been acknowledged are lost, or will be under the next leader."""
    ERROR = "error"
    """Data is lost or unreadable, or a file claims what the log contradicts."""
    WARNING = "warning"
    """Kafka repairs it at its next start, or works around it at a cost."""
    INFO = "info"
    """May be normal, but look at it."""

    @property
    def is_damage(self) -> bool:
        """Whether data is lost, unreadable or contradicted; what Kafka repairs automatically is not damage."""
        return self in {Severity.CRITICAL, Severity.ERROR}

    @property
    def needs_attention(self) -> bool:
        """Whether it is damage or a warning: anything but informational."""
        return self is not Severity.INFO


@dataclass(frozen=True, slots=True)
class Finding:
    """`kind` is a stable name of what was found; `message` says what it means and what to do.

    `position` is in bytes from the start of `file`; `offset` is a record's. Either is None where it does not apply,
    and so are `topic` and `partition` for files of the whole root.
    """

    kind: str
    severity: Severity
    topic: str | None
    partition: int | None
    file: str | None
    position: int | None
    offset: int | None
    message: str

    def as_json(self) -> dict[str, Any]:
        """Return the finding as `verify --json` prints it; file names that are not valid text are escaped."""
        values = ((name, getattr(self, name)) for name in _FIELDS)
        return {name: shown(str(value)) if isinstance(value, str) else value for name, value in values}


_FIELDS: Final = tuple(field.name for field in fields(Finding))


@dataclass(frozen=True, slots=True)
class Reporter:
    """Makes the findings of one partition, or of a root when `topic_partition` is None."""

    topic_partition: TopicPartition | None

    def critical(
        self, kind: str, message: str, *, file: str | None, position: int | None = None, offset: int | None = None
    ) -> Finding:
        """Report the loss of acknowledged records."""
        return self._finding(kind, Severity.CRITICAL, message, file, position, offset)

    def error(
        self, kind: str, message: str, *, file: str | None, position: int | None = None, offset: int | None = None
    ) -> Finding:
        """Report damage."""
        return self._finding(kind, Severity.ERROR, message, file, position, offset)

    def warning(
        self, kind: str, message: str, *, file: str | None, position: int | None = None, offset: int | None = None
    ) -> Finding:
        """Report what Kafka repairs automatically."""
        return self._finding(kind, Severity.WARNING, message, file, position, offset)

    def info(
        self, kind: str, message: str, *, file: str | None, position: int | None = None, offset: int | None = None
    ) -> Finding:
        """Report an informational finding."""
        return self._finding(kind, Severity.INFO, message, file, position, offset)

    def unreadable(
        self,
        error: OSError,
        unchecked: str,
        *,
        file: str | None,
        offset: int | None = None,
    ) -> Finding:
        """Report a file that the system cannot read. Nothing that depends on it is checked."""
        what = f"{error.strerror or error}: {unchecked}; make sure that it exists and is readable, and verify again"
        return self.error(UNREADABLE, what, file=file, offset=offset)

    def _finding(
        self, kind: str, severity: Severity, message: str, file: str | None, position: int | None, offset: int | None
    ) -> Finding:
        topic, partition = self.topic_partition or (None, None)
        return Finding(kind, severity, topic, partition, file, position, offset, message)
