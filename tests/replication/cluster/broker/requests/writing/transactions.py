"""Coordinators of transactions, as tests want them."""

from collections.abc import Mapping

from logstore import TopicPartition
from replication.cluster.broker.requests.writing.transaction_verification import AskedTransaction, TellRefused
from replication.wire.error_code import ErrorCode


class Agreeing:
    """Confirms everything at once."""

    def ask(self, _: AskedTransaction, tell: TellRefused) -> None:
        """Confirm."""
        tell({})


class Coordinator:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[AskedTransaction] = []
        self._tell: list[TellRefused] = []

    def ask(self, asked: AskedTransaction, tell: TellRefused) -> None:
        """Keep the question."""
        self.asked.append(asked)
        self._tell.append(tell)

    def answer(self, refused: Mapping[TopicPartition, ErrorCode] | None = None) -> None:
        """Answer the oldest question."""
        self._tell.pop(0)(refused or {})
