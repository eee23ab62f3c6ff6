"""Open transactions that no coordinator will end, by what `__transaction_state` keeps."""

import struct
from typing import Any

import pytest

from replication.copies.audit.coordinators.hanging_transactions import hanging
from replication.records.coordinator_records.transaction_state import (
    UNFINISHED,
    TopicPartitions,
    TransactionState,
    TransactionStatus,
    read_transaction_state,
    read_transactional_id,
)


def judged(*producers: int, recommended: str | None = "broker-1") -> dict[str, Any]:
    """A partition; the recommended copy has transactions of these producers open, the other one of one more."""
    found = [{"producer_id": each, "producer_epoch": 5, "first_offset": 100 + each} for each in (*producers, 99)]
    branches = [
        {"replica": "broker-1", "open_transactions": found[:-1]},
        {"replica": "broker-2", "open_transactions": found},
    ]
    return {"topic": "orders", "partition": 3, "recommended": recommended, "branches": branches}


def state(status: TransactionStatus, *partitions: int, producer: int = 7, before: int = -1) -> TransactionState:
    """A coordinator's, of a transaction that has written to partitions of orders."""
    return TransactionState(
        producer_id=producer,
        producer_epoch=5,
        timeout_ms=60_000,
        status=status,
        topics=(TopicPartitions("orders", partitions),),
        previous_producer_id=before,
    )


@pytest.mark.parametrize("status", TransactionStatus)
def test_a_transaction_ends_if_its_coordinator_is_at_work_with_the_partition(status: TransactionStatus) -> None:
    found = list(hanging([judged(7)], {"tx": state(status, 3)}))
    assert (found == []) == (status in UNFINISHED)
    if found:
        [each] = found
        assert (each.topic, each.partition, each.replica, each.first_offset) == ("orders", 3, "broker-1", 107)
        assert each.transactional_id == "tx"
        assert each.status == status.name.title().replace("_", "")
        assert "kafka-transactions abort" in each.finding().finding.message


def test_a_coordinator_that_is_at_work_elsewhere_ends_nothing_here() -> None:
    [each] = hanging([judged(7)], {"tx": state(TransactionStatus.ONGOING, 4)})
    assert each.status == "Ongoing"


def test_a_producer_that_no_coordinator_knows_is_told_so() -> None:
    [each] = hanging([judged(7)], {"tx": state(TransactionStatus.ONGOING, 3, producer=8)})
    assert (each.transactional_id, each.status) == (None, None)
    assert each.finding().finding.severity == "info"


def test_a_producer_id_of_before_still_counts() -> None:
    """With KIP-890 the id may have rolled over in the middle."""
    known = state(TransactionStatus.PREPARE_ABORT, 3, producer=8, before=7)
    assert list(hanging([judged(7)], {"tx": known})) == []


def test_only_the_recommended_copy_counts() -> None:
    assert [each.producer_id for each in hanging([judged(7)], {})] == [7]
    assert list(hanging([judged(7, recommended=None)], {})) == []


def test_keys_and_values_of_other_versions_are_nothing() -> None:
    assert read_transactional_id(struct.pack(">hh", 0, 2) + b"tx") == "tx"
    assert read_transactional_id(struct.pack(">hh", 1, 2) + b"tx") is None
    assert read_transactional_id(None) is None
    assert read_transaction_state(struct.pack(">h", 9)) is None
    assert read_transaction_state(struct.pack(">hq", 0, 7)) is None, "cut off"
