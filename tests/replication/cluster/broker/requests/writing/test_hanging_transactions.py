"""Whatever overtakes what, no transaction is left open that its coordinator has ended (KIP-890)."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.cluster.broker.requests.writing.transaction_verification import AskedTransaction, TellRefused
from replication.wire.error_code import ErrorCode
from replication.wire.messages.produce import ProduceRequest
from replication.wire.messages.write_txn_markers import TransactionMarker, WriteTxnMarkersRequest
from tests.logstore.batches import TRANSACTIONAL
from tests.replication.cluster.broker.requests.small_broker import ORDERS
from tests.replication.cluster.broker.requests.writing.leading import BY_NAME, WritingBroker, one_batch

MARKERS = 27
PRODUCER = 9


class SlowNetwork:
    """A producer and its coordinator, whose questions, answers and markers arrive late and in any order.

    `adds`: the leader adds the partition to the transaction, which begins it, and each has an epoch of its own.
    """

    def __init__(self, rng: random.Random, *, adds: bool) -> None:
        self._rng = rng
        self._adds = adds
        self.broker: Any = None
        self._is_open = False
        self._is_ending = False
        self._epoch = 0
        self._questions: list[tuple[AskedTransaction, TellRefused]] = []
        self._answers: list[tuple[TellRefused, dict[TopicPartition, ErrorCode]]] = []
        self._waiting: list[Any] = []

    def ask(self, asked: AskedTransaction, tell: TellRefused) -> None:
        """Have one more question on its way."""
        self._questions.append((asked, tell))

    def step(self) -> None:
        """Let one thing happen."""
        self._rng.choice([self._send, self._send, self._decide, self._deliver, self._look, self._turn, self._mark])()

    def finish(self) -> None:
        """Let all arrive that is on its way, and end the transaction."""
        while self._questions or self._answers or self._waiting:
            self._mark()
            self._decide()
            self._deliver()
            self._look()
        self._mark()
        if self._is_open:
            self._turn()
        self._mark()

    def _send(self) -> None:
        known = self.broker.log.known_producer(PRODUCER)
        following = known.last_sequence + 1 if known and known.epoch == self._epoch else 0
        sequence = max(0, following - self._rng.choice([0, 0, 0, 1]))
        header = {"producer_id": PRODUCER, "producer_epoch": self._epoch, "base_sequence": sequence}
        data = one_batch(**header, attributes=TRANSACTIONAL)
        request = ProduceRequest(partitions={ORDERS: data}, acks=1, transactional_id="t")
        answer = self.broker.send(request, BY_NAME if self._adds else self._rng.choice([10, 11]))
        if hasattr(answer, "attend"):
            self._waiting.append(answer)

    def _decide(self) -> None:
        """Let the coordinator take a question, and its answer begin its way."""
        if self._questions:
            asked, tell = self._questions.pop(self._rng.randrange(len(self._questions)))
            error = self._error(asked.producer_epoch)
            self._answers.append((tell, {ORDERS: error} if error else {}))

    def _error(self, epoch: int) -> ErrorCode:
        if epoch < self._epoch:
            return ErrorCode.PRODUCER_FENCED
        if self._is_ending:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        self._is_open = self._is_open or self._adds
        return ErrorCode.NONE if self._is_open else ErrorCode.INVALID_TXN_STATE

    def _deliver(self) -> None:
        if self._answers:
            tell, refused = self._answers.pop(self._rng.randrange(len(self._answers)))
            tell(refused)

    def _look(self) -> None:
        """Let a connection go on whose answer may be there, or has taken too long."""
        if self._waiting:
            pending = self._waiting.pop(self._rng.randrange(len(self._waiting)))
            is_late = not (self._questions or self._answers) or self._rng.random() < 0.2
            answer = pending.expire() if is_late else pending.answer()
            if answer is None:
                self._waiting.append(pending)

    def _turn(self) -> None:
        """Begin a transaction, or let the producer end the one that is open: he goes on at once."""
        if self._is_open:
            self._is_open, self._is_ending = False, True
            self._epoch += self._adds
        elif not self._is_ending:
            self._is_open = not self._adds

    def _mark(self) -> None:
        """Let the marker arrive."""
        if self._is_ending:
            version = 2 if self._adds else 0
            marker = TransactionMarker(PRODUCER, self._epoch, self._rng.random() < 0.5, (ORDERS,), 0, version)
            answer = self.broker.exchange(MARKERS, WriteTxnMarkersRequest(markers=(marker,)), 2)
            assert answer.results == {PRODUCER: {ORDERS: ErrorCode.NONE}}
            self._is_ending = False


@pytest.mark.parametrize("adds", [False, True])
@given(st.integers(0, 2**32))
def test_no_transaction_is_left_open_that_its_coordinator_has_ended(adds: bool, seed: int) -> None:
    network = SlowNetwork(random.Random(seed), adds=adds)
    with TemporaryDirectory() as directory:
        broker = network.broker = WritingBroker(Path(directory), verification=network)
        for _ in range(60):
            network.step()
        network.finish()
        producer = broker.log.known_producer(PRODUCER)
        assert producer is None or not producer.has_transaction()
        broker.close()
