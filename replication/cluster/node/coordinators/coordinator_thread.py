"""The thread that asks one coordinator of transactions, whatever the others take to answer."""

import logging
from typing import Final

from logstore.log.state.waiters import ThreadWaiter
from replication.cluster.broker.requests.writing.transaction_verification import AskedTransaction, TellRefused
from replication.cluster.node.coordinators.question_queue import AskedQuestions, QuestionQueue
from replication.cluster.worker_thread import WorkerThread
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.errors import UnsupportedVersionError
from replication.wire.messages.add_partitions_to_txn import API_KEY, BROKER_VERSIONS, REQUEST

_IDLE_SECONDS: Final = 540.0
"""After that it hangs up, before the coordinator does (Kafka: connections.max.idle.ms of clients)."""
_log: Final = logging.getLogger(__name__)


class CoordinatorThread(WorkerThread):
    """Has one request under way at a time, as Kafka's brokers have."""

    def __init__(self, address: Address, settings: ClientSettings) -> None:
        """Connect once there is something to ask."""
        super().__init__("broker-asks-coordinator")
        self.address: Final = address
        self._settings: Final = settings
        self._queue: Final = QuestionQueue()
        self._waiter: Final = ThreadWaiter()

    def ask(self, asked: AskedTransaction, tell: TellRefused) -> None:
        """Ask soon; any thread may."""
        self._queue.put(asked, tell)
        self._waiter.wake()

    def _round(self) -> None:
        questions = self._queue.take()
        if questions is not None:
            self._exchange(questions)
        elif not self._waiter.wait(_IDLE_SECONDS):
            self._hang_up()

    def _exchange(self, questions: AskedQuestions) -> None:
        try:
            connection = self._connected()
            answer = connection.ask(questions.request()) if _answers_brokers(connection) else None
        except BaseException as error:
            questions.refuse()
            if not self.stopped:
                _log.warning("%s does not answer as a coordinator of transactions: %s", self.address, error)
            raise
        if answer is None:
            questions.unsupported()
        else:
            questions.answer(answer)
        self._back_off.succeeded()

    def _connected(self) -> Connection:
        connection = self._connection
        return self._connect(self.address, self._settings) if connection is None else connection

    def _wake(self) -> None:
        self._queue.close()
        self._waiter.wake()


def _answers_brokers(connection: Connection) -> bool:
    """Whether it has the versions for brokers: in those before it would take us for the producer."""
    try:
        connection.versions.highest(API_KEY, REQUEST.name, BROKER_VERSIONS)
    except UnsupportedVersionError:
        return False
    return True
