"""Why an offset is there, or is not."""

from enum import StrEnum
from typing import Final


class Why(StrEnum):
    """What became of an offset. The values are those of `epochlog explain --json`."""

    DELIVERED = "delivered"
    """The log has a record there that a consumer is given."""
    CONTROL = "control-marker"
    """A record of Kafka's own, such as the end of a transaction."""
    ABORTED = "aborted-transaction"
    """A record of a transaction that was aborted."""
    OPEN = "open-transaction"
    """At or above the last stable offset: not given until a transaction ends."""
    COMPACTED = "compacted"
    """The cleaner took it: a later record of its key follows, or its tombstone's time was over."""
    TRUNCATED = "truncated"
    """A leader of a later epoch did not have it, so it was cut off."""
    EXPIRED = "expired"
    """Below the log's start: deleted by retention or by request."""
    REMOTE = "in-remote-storage"
    """Below the log's first segment, and not below its start: in remote storage (KIP-405), as far as is known."""
    NEVER_WRITTEN = "never-written"
    """Beyond all that any copy has, or speaks of."""
    MISSING = "missing"
    """It was written, and nothing allows for its absence: it is lost."""
    UNREADABLE = "unreadable"
    """Its batch is there, with a checksum that is valid, and cannot be read: a consumer ends with an error."""
    UNCOMMITTED = "above-high-watermark"
    """The log has a record there, and by the cluster's answer it is not committed: no consumer is given it."""
    BEYOND = "beyond-the-copies"
    """By the cluster's answer it is committed, and all copies end before it: written since, or lost from them."""

    @property
    def words(self) -> str:
        """The value as it stands in a sentence."""
        return self.value.replace("-", " ")


WHYS: Final = tuple(Why)
"""By the numbers that tables of ranges have."""
CODES: Final = {why: code for code, why in enumerate(WHYS)}
