"""A guard lets one append through, the one for which its coordinator was asked, unless something was written first."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from logstore import (
    CorruptBatchError,
    InvalidProducerEpochError,
    InvalidTransactionStateError,
    OutOfOrderSequenceError,
)
from logstore.append.encoding import encode_end_transaction
from logstore.batch.batch import RecordBatch
from logstore.batch.control import ControlType, EndTransactionMarker
from replication.cluster.broker.errors import NotEnoughReplicasError, NotLeaderError
from replication.cluster.broker.partitions.transaction_guards import Guard, TransactionGuards
from tests.logstore.batches import TRANSACTIONAL
from tests.replication.cluster.broker.requests.small_broker import ORDERS
from tests.replication.cluster.broker.requests.writing.leading import FOLLOWER, WritingBroker, one_batch, shrink

PRODUCER = 9
DAY_SECONDS = 86_400.0


class Partition:
    """A partition that is led, and its guards."""

    def __init__(self, directory: Path) -> None:
        self.broker = WritingBroker(directory)
        self.now = 0.0
        self.guards = TransactionGuards(lambda: self.now)

    @property
    def log(self) -> Any:
        return self.broker.log

    def ask(self, batch: RecordBatch, *, opens_by_first: bool = False) -> Guard | None:
        return self.guards.ask(self.broker.led, self.log, batch, opens_by_first=opens_by_first)

    def append(self, batch: RecordBatch, guard: Guard | None, *, required_acks: int = 1) -> int:
        info = self.guards.append(self.broker.led, self.log, batch, guard, required_acks=required_acks)
        return info.first_offset

    def end(self, epoch: int = 0, **settings: Any) -> int:
        marker = encode_end_transaction(EndTransactionMarker(ControlType.ABORT, 0, 0), PRODUCER, epoch, 1_000)
        whose = {"producer_id": PRODUCER, "producer_epoch": epoch}
        info = self.guards.append_marker(self.broker.led, marker, **whose, **{"transaction_version": 1, **settings})
        return info.first_offset


@pytest.fixture
def partition(tmp_path: Path) -> Iterator[Partition]:
    led = Partition(tmp_path)
    yield led
    led.broker.close()


def batch(sequence: int = 0, *, epoch: int = 0, producer_id: int = PRODUCER, **header: Any) -> RecordBatch:
    fields = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence}
    return RecordBatch(memoryview(one_batch(attributes=TRANSACTIONAL, **{**fields, **header})))


def test_a_guard_is_good_for_one_append_and_gone_then(partition: Partition) -> None:
    guard = partition.ask(batch())
    assert len(partition.guards) == 1
    assert partition.append(batch(), guard) == 0
    assert len(partition.guards) == 0
    assert partition.ask(batch(1)) is None, "the transaction is open"
    assert partition.append(batch(1), None) == 1


def test_nothing_begins_without_guard(partition: Partition) -> None:
    with pytest.raises(InvalidTransactionStateError):
        partition.append(batch(), None)
    with pytest.raises(InvalidTransactionStateError):
        partition.append(batch(), Guard(partition.broker.led, batch(), 0.0, opens_by_first=False))
    assert partition.log.log_end_offset == 0


def test_an_append_that_fails_leaves_the_guard(partition: Partition) -> None:
    partition.broker.lead(ORDERS, FOLLOWER, min_insync_replicas=2)
    shrink(partition.broker)
    guard = partition.ask(batch())
    with pytest.raises(NotEnoughReplicasError):
        partition.append(batch(), guard, required_acks=-1)
    assert partition.append(batch(), guard) == 0


def test_the_end_of_a_transaction_makes_the_guard_void(partition: Partition) -> None:
    guard = partition.ask(batch())
    partition.end()
    assert len(partition.guards) == 0
    with pytest.raises(InvalidTransactionStateError):
        partition.append(batch(), guard)


@pytest.mark.parametrize(("opens_by_first", "epoch", "stays"), [(True, 1, True), (True, 2, False), (False, 1, False)])
def test_where_each_transaction_has_its_epoch_the_end_of_one_leaves_the_guard_of_the_next(
    partition: Partition, opens_by_first: bool, epoch: int, stays: bool
) -> None:
    partition.append(batch(), partition.ask(batch()))
    partition.ask(batch(epoch=1), opens_by_first=opens_by_first)
    partition.end(epoch, transaction_version=2)
    assert len(partition.guards) == stays


def test_what_was_asked_as_an_earlier_leader_counts_for_nothing(partition: Partition) -> None:
    """The transaction may have ended under the leader between: its marker was only replicated here."""
    guard = partition.ask(batch())
    partition.broker.led.resign()
    with pytest.raises(NotLeaderError):
        partition.append(batch(), guard)
    partition.broker.lead(ORDERS)
    with pytest.raises(NotLeaderError):
        partition.append(batch(), guard)
    another = partition.ask(batch())
    assert another is not guard
    assert len(partition.guards) == 1
    assert partition.append(batch(), another) == 0


def test_a_marker_needs_the_replicas_in_sync_that_acks_of_all_needs(partition: Partition) -> None:
    partition.broker.lead(ORDERS, FOLLOWER, min_insync_replicas=2)
    shrink(partition.broker)
    with pytest.raises(NotEnoughReplicasError):
        partition.end()


def test_what_is_sent_again_needs_no_guard_and_makes_none_void(partition: Partition) -> None:
    partition.append(batch(), partition.ask(batch()))
    partition.end()
    guard = partition.ask(batch(1))
    assert partition.append(batch(), None) == 0
    assert partition.append(batch(1), guard) == 2


def test_a_damaged_batch_is_said_to_be_damaged_first(partition: Partition) -> None:
    with pytest.raises(CorruptBatchError):
        partition.append(batch(crc=1), None)


def test_batches_that_wait_together_have_one_guard_and_the_first_of_them_goes_first(partition: Partition) -> None:
    guard = partition.ask(batch(5))
    assert partition.ask(batch(3)) is guard
    assert partition.ask(batch(4)) is guard
    for late in (4, 5):
        with pytest.raises(OutOfOrderSequenceError):
            partition.append(batch(late), guard)
    assert partition.append(batch(3), guard) == 0


def test_of_a_later_epoch_its_own_first_batch_counts(partition: Partition) -> None:
    guard = partition.ask(batch(1))
    assert partition.ask(batch(7, epoch=1)) is guard
    assert partition.ask(batch(0, epoch=0)) is guard, "of an epoch that is over"
    assert partition.append(batch(7, epoch=1), guard) == 0


def test_an_old_epoch_is_refused_for_its_epoch(partition: Partition) -> None:
    partition.append(batch(epoch=3), partition.ask(batch(epoch=3)))
    partition.end(3)
    guard = partition.ask(batch(1, epoch=3))
    with pytest.raises(InvalidProducerEpochError):
        partition.append(batch(9, epoch=2), guard)
    with pytest.raises(OutOfOrderSequenceError):
        partition.append(batch(2, epoch=3), guard)


@pytest.mark.parametrize("late", [0, 2])
def test_a_batch_that_comes_again_after_its_transaction_keeps_no_later_one_out(partition: Partition, late: int) -> None:
    """A leader of Kafka's refuses the next transaction's batches from then on."""
    for sequence in range(7):
        partition.append(batch(sequence), partition.ask(batch(sequence)))
    partition.end()
    assert partition.ask(batch(late)) is not None, "its coordinator is asked, and knows nothing of it"
    guard = partition.ask(batch(7))
    with pytest.raises(OutOfOrderSequenceError):
        partition.append(batch(8), guard)
    assert partition.append(batch(7), guard) == 8


def test_where_each_transaction_has_its_epoch_an_unknown_producer_begins_with_0(partition: Partition) -> None:
    with pytest.raises(OutOfOrderSequenceError):
        partition.append(batch(1), partition.ask(batch(1), opens_by_first=True))
    partition.end()
    partition.append(batch(), partition.ask(batch(), opens_by_first=True))
    partition.end()
    assert partition.append(batch(1), partition.ask(batch(1), opens_by_first=True)) == 3


def test_guards_are_forgotten_once_their_producers_would_be(partition: Partition) -> None:
    for producer_id in (1, 2):
        partition.ask(batch(producer_id=producer_id))
        partition.now += 10
    partition.now = DAY_SECONDS
    partition.ask(batch(producer_id=3))
    assert len(partition.guards) == 3, "a day is not over for the oldest"
    partition.now += 0.001
    partition.ask(batch(producer_id=4))
    assert len(partition.guards) == 3
    partition.now += 2 * DAY_SECONDS
    partition.ask(batch(producer_id=5))
    assert len(partition.guards) == 1
