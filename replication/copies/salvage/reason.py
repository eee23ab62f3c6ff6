"""Why a record of a losing copy is not salvaged."""

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """Why a record is left out. The values are those of `epochlog salvage --json`."""

    CONTROL = "control-marker"
    ABORTED = "aborted-transaction"
    OPEN = "open-transaction"
    INCOMPLETE = "incomplete-transaction"
    UNDECIDED = "undecided-transaction"
    RESENT = "re-sent"
    SAME = "same-key-and-value"
    SUPERSEDED = "superseded"
    CONFLICT = "conflict"
    NOT_NEWER = "not-newer-than-the-other-side"

    @property
    def meaning(self) -> str:
        """What it means, in words that follow `N records: `."""
        return _MEANINGS[self]


IN_DOUBT: Final = frozenset({Reason.OPEN, Reason.INCOMPLETE, Reason.UNDECIDED, Reason.CONFLICT})
"""Reasons about which somebody has to decide; all others are settled."""

_MEANINGS: Final = {
    Reason.CONTROL: "of Kafka's own, which mark the ends of transactions and which no consumer gets",
    Reason.ABORTED: "of transactions that were aborted",
    Reason.OPEN: "of transactions that have no end in any copy",
    Reason.INCOMPLETE: "of committed transactions of which a part is missing, in conflict or undecided",
    Reason.UNDECIDED: "of transactions that were committed there and are still open in the kept copy",
    Reason.RESENT: "in the kept copy too: their producer sent them again after the failure",
    Reason.SAME: "in the kept copy too, by equal key and value",
    Reason.SUPERSEDED: "superseded by a later record of the same key on the losing side",
    Reason.CONFLICT: "in conflict: another copy has another write of their key after the fork",
    Reason.NOT_NEWER: "in conflict, and not newer than what another copy has of their key",
}
