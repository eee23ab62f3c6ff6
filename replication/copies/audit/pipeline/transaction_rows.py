"""What coordinators know of transactions, from the copies of `__transaction_state` that should lead."""

from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from logstore.batch.any_batch import Batch
from logstore.batch.record import Record
from replication.copies.audit.coordinators.copy_records import read_records
from replication.copies.audit.coordinators.hanging_transactions import HangingTransaction, hanging
from replication.copies.audit.examination.copy_examiner import Row
from replication.copies.audit.pipeline.partition_rows import examined_copy
from replication.copies.audit.tables import Columns
from replication.records.coordinator_records.transaction_state import (
    TransactionState,
    read_transaction_state,
    read_transactional_id,
)

COORDINATED: Final[Columns] = {"transactional_id": pa.string(), "state": pa.binary()}
"""One row a transactional id: its last state, as its record's value has it."""


def has_open_transactions(judged: Iterable[Row]) -> bool:
    """Return whether a copy has one, so that the coordinators' copies have to be read."""
    return any(branch["open_transactions"] for row in judged for branch in row["branches"])


def coordinated_rows(row: Row) -> list[Row]:
    """Read a copy of a `__transaction_state` partition; what cannot be read is passed over."""
    states: dict[str, bytes] = {}

    def take(batch: Batch, record: Record) -> None:
        name = None if batch.is_control else read_transactional_id(record.key)
        if name is None:
            return
        if record.value is None:
            states.pop(name, None)
        else:
            states[name] = bytes(record.value)

    read_records(examined_copy(row), take)
    return [{"transactional_id": name, "state": state} for name, state in states.items()]


def hanging_rows(judged: Iterable[Row], coordinated: Iterable[Row]) -> list[HangingTransaction]:
    """Find the transactions that nobody will end, by partition and offset."""
    states: dict[str, TransactionState] = {}
    for row in coordinated:
        state = read_transaction_state(row["state"])
        if state is not None:
            states[row["transactional_id"]] = state
    return sorted(hanging(judged, states), key=lambda each: (each.topic, each.partition, each.first_offset))
