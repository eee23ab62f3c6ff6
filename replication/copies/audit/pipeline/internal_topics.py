"""What Kafka's own topics show once partitions are judged: consumers and transactions that a new leader strands."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from logstore.text.record_mask import RecordMask
from replication.copies.audit.coordinators.consumer_offsets import CONSUMER_OFFSETS, StrandedOffset
from replication.copies.audit.coordinators.hanging_transactions import HangingTransaction
from replication.copies.audit.examination.copy_examiner import Row
from replication.copies.audit.pipeline.committed_rows import COMMITTED, committed_rows, stranded_rows
from replication.copies.audit.pipeline.transaction_rows import (
    COORDINATED,
    coordinated_rows,
    hanging_rows,
    has_open_transactions,
)
from replication.copies.audit.tables import Columns
from replication.records.coordinator_records.transaction_state import TRANSACTION_STATE


@dataclass(frozen=True, slots=True)
class TopicReading:
    """One topic that has to be read, in the copies that should lead."""

    topic: str
    columns: Columns
    """Of the rows that reading gives."""
    read: Callable[[Row], list[Row]]
    """Reads one copy, given its row, wherever that runs."""


@dataclass(frozen=True, slots=True)
class Stranded:
    """Who is left behind under the recommended leaders."""

    offsets: Sequence[StrandedOffset] = ()
    """What groups have committed beyond what a leader shares with the log that they have read."""
    transactions: Sequence[HangingTransaction] = ()
    """Those that nobody will end."""

    def masked(self, mask: RecordMask) -> "Stranded":
        """Return them with the names masked that the keys of records consist of: groups, and transactional ids."""
        return Stranded(
            [replace(each, group=mask.name_in_key(each.group)) for each in self.offsets],
            [
                each._replace(transactional_id=each.transactional_id and mask.name_in_key(each.transactional_id))
                for each in self.transactions
            ],
        )

    def findings(self) -> Iterator[dict[str, Any]]:
        """Give them as rows of the table `findings`."""
        for offset in self.offsets:
            yield offset.finding().as_json()
        for transaction in self.transactions:
            yield transaction.finding().as_json()


COMMITTED_OFFSETS: Final = TopicReading(CONSUMER_OFFSETS, COMMITTED, committed_rows)
"""What groups have committed is read before other partitions are judged: it shows how far these were read."""


def topic_readings(judged: Sequence[Row]) -> Iterator[TopicReading]:
    """Name what else has to be read, given the verdicts: nothing where no transaction is open."""
    if has_open_transactions(judged):
        yield TopicReading(TRANSACTION_STATE, COORDINATED, coordinated_rows)


def stranded(judged: Sequence[Row], rows: Mapping[str, Sequence[Row]]) -> Stranded:
    """Find who is left behind, given the verdicts and what was read, by topic."""
    verdicts = {(row["topic"], row["partition"]): row for row in judged}
    offsets = stranded_rows(verdicts, rows.get(CONSUMER_OFFSETS, ()))
    is_coordinated = any(row["topic"] == TRANSACTION_STATE and row["recommended"] is not None for row in judged)
    if not is_coordinated or TRANSACTION_STATE not in rows:
        return Stranded(offsets)  # of an open transaction nobody can say whether it will be ended
    return Stranded(offsets, hanging_rows(judged, rows[TRANSACTION_STATE]))
