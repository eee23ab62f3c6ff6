"""Whether anybody will end an open transaction, by what the coordinators know."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from replication.cluster.transactions.open_transaction import OpenTransaction
from replication.records.coordinator_records.transaction_state import UNFINISHED, status_name
from replication.wire.messages.describe_transactions import DescribedTransaction

WILL_END: Final = frozenset(map(status_name, UNFINISHED))
"""States in which a coordinator will still write markers into the partitions of a transaction."""


_UNKNOWN: Final = "no coordinator knows its producer"


class Verdict(StrEnum):
    """What becomes of an open transaction if nobody does anything."""

    HANGING = "hanging"
    """No coordinator will end it."""
    ONGOING = "ongoing"
    """Its coordinator will end it."""
    UNPROVEN = "unproven"
    """It may be either: too little is known."""


class JudgedTransaction(NamedTuple):
    """An open transaction, and what was found out about it."""

    transaction: OpenTransaction
    verdict: Verdict
    reason: str
    transactional_id: str | None = None
    """None where no coordinator knows the producer."""

    def as_json(self) -> Mapping[str, object]:
        """Return it as `--json` prints it."""
        return {
            **self.transaction.as_json(),
            "verdict": self.verdict.value,
            "reason": self.reason,
            "transactional_id": self.transactional_id,
        }


def judge(
    transaction: OpenTransaction,
    coordinated: Iterable[DescribedTransaction],
    *,
    gap: str | None,
    older_than: int | None,
) -> JudgedTransaction:
    """Judge one that was open before the coordinators were asked, and after that still was.

    `gap` says which coordinators did not report what they know; None where all did. A transaction of which no
    coordinator knows the producer counts as hanging only if its last batch is older than `older_than`, a time in
    milliseconds since 1970 UTC, and never where that is None: a coordinator reports no transactional ids that the
    asker may not describe, and a producer may give its records any time.
    """
    known = [each for each in coordinated if each.producer_id == transaction.producer_id]
    ending = [each for each in known if each.state in WILL_END and transaction.partition in each.partitions]
    if ending:
        return _judged(transaction, Verdict.ONGOING, f"its coordinator has it as {ending[0].state}", ending[0])
    if gap is not None:
        return _judged(transaction, Verdict.UNPROVEN, f"not all coordinators reported their transactions: {gap}")
    if known:
        has = f"its coordinator has {known[0].transactional_id} as {known[0].state}, without this partition"
        return _judged(transaction, Verdict.HANGING, has, known[0])
    if older_than is None:
        return _judged(transaction, Verdict.UNPROVEN, f"{_UNKNOWN}, or this user may not describe it")
    if transaction.last_timestamp >= older_than:
        younger = f"{_UNKNOWN}, but its last batch is younger than transactions may become"
        return _judged(transaction, Verdict.UNPROVEN, younger)
    return _judged(transaction, Verdict.HANGING, f"{_UNKNOWN}, and no transaction becomes so old")


def _judged(
    transaction: OpenTransaction, verdict: Verdict, reason: str, described: DescribedTransaction | None = None
) -> JudgedTransaction:
    return JudgedTransaction(transaction, verdict, reason, described.transactional_id if described else None)
