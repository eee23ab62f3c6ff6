"""Transactions that go on whatever happens to the brokers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from logstore import TopicPartition
from tests.replication.cluster.node.joining.chaos.thread import ChaosThread
from tests.replication.cluster.node.joining.transactional_clients import NotDoneError, TransactionalClient
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

    def check(self, values: Sequence[str], *, given_up: int = 0) -> None:
        """Hold what a consumer of committed records gets against what was told. Raises AssertionError.

        So many transactions may have ended as the one after them, as their markers were given up.
        """
        found = set(values)
        for each in self.unknown:
            assert len(found.intersection(each)) in {0, len(each)}, f"half of a transaction is visible: {each}"
        passed_over = {_number_of(value) for each in self.unknown for value in each}
        changed = ({*map(_number_of, values)} ^ {*map(_number_of, self.committed)}) - passed_over
        assert len(changed) <= given_up, f"{self.partition} has not what was committed: transactions {changed}"
        passed_over |= changed
        there, told = (
            [value for value in each if _number_of(value) not in passed_over] for each in (values, self.committed)
        )
        assert there == told, f"{self.partition} has not what was committed"

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


def _number_of(value: str) -> int:
    """Return which transaction of its client a record was written in."""
    return int(value.partition("-")[0])
