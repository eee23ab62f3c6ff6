"""Transactions that go on whatever happens to the brokers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from logstore import TopicPartition
from tests.replication.node.joining.chaos.thread import ChaosThread
from tests.replication.node.joining.transactional_clients import NotDoneError, TransactionalClient
from tests.replication.waiting import SECONDS

_MOST_RECORDS: Final = 5
_ABORTED: Final = 0.25
"""The share of transactions that are to be aborted."""
_ATTEMPTS: Final = 3


@dataclass
class ChaosTransactions(ChaosThread):
    """One transaction after the other, to one partition, in a thread of its own."""

    client: TransactionalClient
    partition: TopicPartition
    random: Random
    committed: list[str] = field(default_factory=list)
    """Values, in their order."""
    unknown: list[list[str]] = field(default_factory=list)
    """Transactions of which nobody was told how they end."""
    seconds: float = SECONDS
    """How long it may take to end the last one."""
    _number: int = 0

    def check(self, values: Sequence[str], *, has_all_markers: bool = True) -> None:
        """Hold what a consumer of committed records gets against what was told. Raises AssertionError.

        Where markers are missing, what was aborted is committed with the transaction after it.
        """
        found = set(values)
        for each in self.unknown:
            assert len(found.intersection(each)) in {0, len(each)}, f"half of a transaction is visible: {each}"
        uncertain = {value for each in self.unknown for value in each}
        committed = set(self.committed)
        certain = [value for value in values if value not in uncertain and (has_all_markers or value in committed)]
        assert certain == self.committed, f"{self.partition} has not what was committed"

    def _run(self) -> None:
        is_open = False
        while not self._stopped.is_set():
            is_open = self._transact() if is_open else self._is_done(self.client.open)
            time.sleep(0.05)
        deadline = time.monotonic() + self.seconds
        while not is_open:
            # What was left open would keep consumers from the end of the log.
            is_open = self._is_done(self.client.open)
            assert is_open or time.monotonic() < deadline, f"{self.partition}: no producer could be opened in the end"
            time.sleep(0.5)

    def _transact(self) -> bool:
        """Do one; whether the client can go on."""
        self._number += 1
        values = [f"{self._number}-{part}" for part in range(self.random.randint(1, _MOST_RECORDS))]
        is_sent = self._is_done(lambda: self.client.send(values, self.partition))
        if not is_sent or self.random.random() < _ABORTED:
            # What nobody has committed is aborted, at the latest when the client is opened anew.
            return self._is_done_at_last(self.client.abort)
        if self._is_done_at_last(self.client.commit):
            self.committed += values
            return True
        self.unknown.append(values)
        return False

    def _is_done_at_last(self, do: Callable[[], None]) -> bool:
        return any(self._is_done(do) for _ in range(_ATTEMPTS))

    def _is_done(self, do: Callable[[], None]) -> bool:
        try:
            do()
        except NotDoneError:
            return False
        return True
