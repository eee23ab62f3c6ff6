"""What leaders ask one coordinator of transactions, collected into requests: no thread, no connection."""

from collections.abc import Mapping
from threading import Lock
from typing import Final, NamedTuple

from logstore import TopicPartition
from replication.cluster.broker.requests.writing.transaction_verification import AskedTransaction, TellRefused
from replication.wire.error_code import ErrorCode
from replication.wire.messages.add_partitions_to_txn import (
    AddedPartitionsToTxn,
    AddPartitionsToTxnRequest,
    TransactionPartitions,
)

_UNANSWERED: Final = ErrorCode.NETWORK_EXCEPTION


class _Question(NamedTuple):
    asked: AskedTransaction
    tell: tuple[TellRefused, ...]
    """All that have asked it."""

    def joined(self, other: "_Question") -> "_Question | None":
        """Return the two as one, where they are of one transaction and ask for the same."""
        if self.asked._replace(partitions=()) != other.asked._replace(partitions=()):
            return None
        partitions = tuple(dict.fromkeys((*self.asked.partitions, *other.asked.partitions)))
        return _Question(self.asked._replace(partitions=partitions), (*self.tell, *other.tell))

    def answer(self, refused: Mapping[TopicPartition, ErrorCode]) -> None:
        for tell in self.tell:
            tell(refused)

    def refuse(self, error: ErrorCode) -> None:
        self.answer(dict.fromkeys(self.asked.partitions, error))


class AskedQuestions:
    """Those of one request."""

    def __init__(self, questions: Mapping[str, _Question]) -> None:
        """Ask these, by transactional id."""
        self._questions: Final = questions

    def request(self) -> AddPartitionsToTxnRequest:
        """Return what the coordinator is sent."""
        every = (question.asked for question in self._questions.values())
        return AddPartitionsToTxnRequest(
            transactions=tuple(
                TransactionPartitions(
                    asked.transactional_id,
                    asked.producer_id,
                    asked.producer_epoch,
                    asked.partitions,
                    verify_only=not asked.is_to_be_added,
                )
                for asked in every
            )
        )

    def answer(self, answer: AddedPartitionsToTxn) -> None:
        """Answer the questions as the coordinator has; what it does not mention is not confirmed."""
        if answer.error is not ErrorCode.NONE:
            # That brokers of this cluster may not ask is nothing that a producer could mend.
            is_denied = answer.error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            self.refuse(ErrorCode.INVALID_TXN_STATE if is_denied else answer.error)
            return
        for transactional_id, question in self._questions.items():
            told = answer.results.get(transactional_id, {})
            errors = {each: told.get(each, ErrorCode.UNKNOWN_SERVER_ERROR) for each in question.asked.partitions}
            question.answer({each: error for each, error in errors.items() if error is not ErrorCode.NONE})

    def refuse(self, error: ErrorCode = _UNANSWERED) -> None:
        """Answer that nothing is confirmed."""
        for question in self._questions.values():
            question.refuse(error)

    def unsupported(self) -> None:
        """Answer for a coordinator that cannot (Kafka before 3.5): appends go on unverified, as before that release.

        Unless partitions have to be added: no marker would end in them what is appended without that.
        """
        for question in self._questions.values():
            if question.asked.is_to_be_added:
                question.refuse(ErrorCode.UNSUPPORTED_VERSION)
            else:
                question.answer({})


class QuestionQueue:
    """Collects while a request is under way, and makes the next one of all that has come (AddPartitionsToTxnManager).

    Of each transactional id a request has one question: who asks for the same transaction is answered with it, and
    another transaction of that id waits for the next request.
    """

    def __init__(self) -> None:
        """Create an empty queue."""
        self._lock: Final = Lock()
        self._waiting: list[_Question] = []
        self._is_closed = False

    def put(self, asked: AskedTransaction, tell: TellRefused) -> None:
        """Ask with the next request; nothing is confirmed once it is closed."""
        question = _Question(asked, (tell,))
        with self._lock:
            if not self._is_closed:
                self._waiting.append(question)
                return
        question.refuse(_UNANSWERED)

    def take(self) -> AskedQuestions | None:
        """Return what the next request asks; None where nobody asks."""
        chosen: dict[str, _Question] = {}
        left: list[_Question] = []
        with self._lock:
            for question in self._waiting:
                first = chosen.get(question.asked.transactional_id)
                together = question if first is None else first.joined(question)
                if together is None:
                    left.append(question)
                else:
                    chosen[question.asked.transactional_id] = together
            self._waiting = left
        return AskedQuestions(chosen) if chosen else None

    def close(self) -> None:
        """Fail current waiters."""
        with self._lock:
            self._is_closed = True
            left, self._waiting = self._waiting, []
        for question in left:
            question.refuse(_UNANSWERED)
