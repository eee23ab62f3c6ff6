"""Whatever overtakes what, no transaction is left open that its coordinator has ended (KIP-890)."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.broker.requests.writing.transaction_verification import AskedTransaction, TellRefused
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.produce import ProduceRequest
from replication.protocol.messages.write_txn_markers import TransactionMarker, WriteTxnMarkersRequest
from tests.logstore.batches import TRANSACTIONAL
from tests.replication.broker.requests.small_broker import ORDERS
from tests.replication.broker.requests.writing.leading import BY_NAME, WritingBroker, one_batch

MARKERS = 27
PRODUCER = 9


class SlowNetwork:
    """A coordinator whose questions and answers arrive late and in any order."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.is_open = False
        self.broker: Any = None
        self._questions: list[TellRefused] = []
        self._answers: list[tuple[TellRefused, dict[TopicPartition, ErrorCode]]] = []
        self._waiting: list[Any] = []

    def ask(self, _: AskedTransaction, tell: TellRefused) -> None:
        """Have one more question on its way."""
        self._questions.append(tell)

    def step(self) -> None:
        """Let one thing happen."""
        self._rng.choice([self._send, self._send, self._decide, self._deliver, self._look, self._turn])()

    def finish(self) -> None:
        """End the transaction, and let all arrive that is on its way."""
        if self.is_open:
            self._turn()
        while self._questions:
            self._decide()
        while self._answers:
            self._deliver()
            self._look()
        while self._waiting:
            self._look()

    def _send(self) -> None:
        known = self.broker.log.known_producer(PRODUCER)
        sequence = max(0, (known.last_sequence + 1 if known else 0) - self._rng.choice([0, 0, 0, 1]))
        data = one_batch(producer_id=PRODUCER, producer_epoch=0, base_sequence=sequence, attributes=TRANSACTIONAL)
        request = ProduceRequest(partitions={ORDERS: data}, acks=1, transactional_id="t")
        answer = self.broker.send(request, self._rng.choice([11, BY_NAME]))
        if hasattr(answer, "attend"):
            self._waiting.append(answer)

    def _decide(self) -> None:
        """Let the coordinator take a question, and its answer begin its way."""
        if self._questions:
            tell = self._questions.pop(self._rng.randrange(len(self._questions)))
            self._answers.append((tell, {} if self.is_open else {ORDERS: ErrorCode.INVALID_TXN_STATE}))

    def _deliver(self) -> None:
        if self._answers:
            tell, refused = self._answers.pop(self._rng.randrange(len(self._answers)))
            tell(refused)

    def _look(self) -> None:
        """Let a connection go on whose answer may be there."""
        if self._waiting:
            pending = self._waiting.pop(self._rng.randrange(len(self._waiting)))
            is_late = not (self._questions or self._answers)
            answer = pending.expire() if is_late else pending.answer()
            if answer is None:
                self._waiting.append(pending)

    def _turn(self) -> None:
        """Begin a transaction, or end the one that is open, at once everywhere."""
        if self.is_open:
            marker = TransactionMarker(PRODUCER, 0, self._rng.random() < 0.5, (ORDERS,))
            answer = self.broker.exchange(MARKERS, WriteTxnMarkersRequest(markers=(marker,)), 1)
            assert answer.results == {PRODUCER: {ORDERS: ErrorCode.NONE}}
        self.is_open = not self.is_open


@given(st.integers(0, 2**32))
def test_no_transaction_is_left_open_that_its_coordinator_has_ended(seed: int) -> None:
    network = SlowNetwork(random.Random(seed))
    with TemporaryDirectory() as directory:
        broker = network.broker = WritingBroker(Path(directory), verification=network)
        for _ in range(60):
            network.step()
        network.finish()
        producer = broker.log.known_producer(PRODUCER)
        assert producer is None or not producer.has_transaction()
        broker.close()
