"""A request that waits for what becomes of it at other replicas."""

from collections.abc import Sequence
from typing import Any, Protocol

from logstore.log.state.waiters import Waiter
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.wire.error_code import ErrorCode


class Awaited(Protocol):
    """What was done here, and is waited for elsewhere."""

    @property
    def hosted(self) -> HostedPartition:
        """The partition at which it can be seen."""

    def outcome(self, lookup: PartitionLookup) -> ErrorCode | None:
        """Return what has become of it; None as long as that is open."""


class Answering(Protocol):
    """What makes the answer."""

    def settle(self, awaited: Any, error: ErrorCode) -> None:
        """Note the result of one."""

    def response(self) -> Any:
        """Return the answer."""


class PendingOutcomes:
    """Looks again whenever something happens to one of the partitions (Kafka: DelayedProduce, DelayedDeleteRecords)."""

    def __init__(self, work: Answering, lookup: PartitionLookup, awaited: Sequence[Awaited], deadline: float) -> None:
        """Wait for these until `deadline`, in seconds by `time.monotonic()`."""
        self.deadline = deadline
        self._work = work
        self._lookup = lookup
        self._awaited = list(awaited)
        self._attended: list[HostedPartition] = [each.hosted for each in awaited]

    def attend(self, waiter: Waiter) -> None:
        """Wake it whenever something happens to one of the partitions."""
        for hosted in self._attended:
            hosted.attend(waiter, end=False)  # what others append is not waited for

    def leave(self, waiter: Waiter) -> None:
        """Wake it no more."""
        for hosted in self._attended:
            hosted.leave(waiter)

    def answer(self) -> Any | None:
        """Return the answer once nothing is open."""
        still_open = []
        for awaited in self._awaited:
            error = awaited.outcome(self._lookup)
            if error is None:
                still_open.append(awaited)
            else:
                self._work.settle(awaited, error)
        self._awaited = still_open
        return None if still_open else self._work.response()

    def expire(self) -> Any:
        """Return the answer; what is open has taken too long."""
        response = self.answer()
        if response is not None:
            return response
        for awaited in self._awaited:
            self._work.settle(awaited, ErrorCode.REQUEST_TIMED_OUT)
        return self._work.response()
