"""What is true of an offset of a log, or of a row of a table that was filled from it."""

from enum import StrEnum
from typing import Final

from replication.copies.explain.why import Why


class Status(StrEnum):
    """What an offset, or a row, is. The values are those of `epochlog reconcile --json`."""

    DELIVERED = "delivered"
    """The log has a record that a consumer is given, and the table has it."""
    MISSING = "missing"
    """The log has a record that a consumer is given, and the table lacks it."""
    CONTROL = "control-marker"
    """A record of Kafka's own, which no consumer is given."""
    ABORTED = "aborted-transaction"
    """A record of a transaction that was aborted."""
    OPEN = "open-transaction"
    """At or above the last stable offset: not given until a transaction ends."""
    COMPACTED = "compacted"
    """The cleaner took it."""
    TRUNCATED = "truncated"
    """A leader of a later epoch did not have it, so it was cut off."""
    BEFORE_START = "before-log-start"
    """Below the log's start: retention or a request deleted it."""
    UNREAD = "unread"
    """The copies do not give what was there: it is in remote storage, damaged or lost."""
    NEVER_WRITTEN = "never-written"
    """No copy has it, nor anything behind it; or it names a leader epoch that cannot have written it."""


STATUSES: Final = tuple(Status)
"""By the numbers that tables of ranges have."""
CODES: Final = {status: code for code, status in enumerate(STATUSES)}
OF_ROWS: Final = {
    Why.DELIVERED: Status.DELIVERED,
    Why.CONTROL: Status.CONTROL,
    Why.ABORTED: Status.ABORTED,
    Why.OPEN: Status.OPEN,
    Why.COMPACTED: Status.COMPACTED,
    Why.TRUNCATED: Status.TRUNCATED,
    Why.EXPIRED: Status.BEFORE_START,
    Why.REMOTE: Status.UNREAD,
    Why.NEVER_WRITTEN: Status.NEVER_WRITTEN,
    Why.MISSING: Status.UNREAD,
    Why.UNREADABLE: Status.UNREAD,
    Why.UNCOMMITTED: Status.UNREAD,
    Why.BEYOND: Status.UNREAD,
}
"""What a row of the table is, by what became of its offset."""
OF_LACKING: Final = OF_ROWS | {Why.DELIVERED: Status.MISSING}
"""What an offset is that the table lacks."""
NOT_GIVEN: Final = frozenset({Status.CONTROL, Status.ABORTED, Status.OPEN, Status.TRUNCATED, Status.NEVER_WRITTEN})
"""What a table should not have."""
