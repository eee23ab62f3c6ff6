"""A request that waits until all replicas in sync have what it appended (acks=all)."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from logstore import TopicPartition
from logstore.log.state.waiters import Waiter
from replication.broker.partitions.hosted_partition import HostedPartition
from replication.broker.partitions.led_partition import LedPartition
from replication.broker.requests.partition_lookup import PartitionLookup
from replication.protocol.error_code import ErrorCode


class AwaitedAppend(NamedTuple):
    """What was appended, and is not replicated yet."""

    key: Any
    """By which the answer tells of it."""
    partition: TopicPartition
    hosted: HostedPartition
    led: LedPartition
    """Who leads with it: not again after `resign`, so that what was cut off meanwhile is not taken for replicated."""
    end_offset: int
    """The high watermark that is waited for."""


class Answering(Protocol):
    """What makes the answer."""

    def settle(self, awaited: AwaitedAppend, error: ErrorCode) -> None:
        """Take what has become of one append."""

    def response(self) -> Any:
        """Return the answer."""


class PendingAcks:
    """Looks at the high watermarks whenever one may have moved (Kafka: DelayedProduce)."""

    def __init__(
        self, work: Answering, lookup: PartitionLookup, awaited: Sequence[AwaitedAppend], deadline: float
    ) -> None:
        """Wait for these until `deadline`, in seconds by `time.monotonic()`."""
        self.deadline = deadline
        self._work = work
        self._lookup = lookup
        self._awaited = list(awaited)
        self._attended: list[HostedPartition] = [each.hosted for each in awaited]

    def attend(self, waiter: Waiter) -> None:
        """Wake it whenever something happens to one of the partitions."""
        for hosted in self._attended:
            hosted.attend(waiter)

    def leave(self, waiter: Waiter) -> None:
        """Wake it no more."""
        for hosted in self._attended:
            hosted.leave(waiter)

    def answer(self) -> Any | None:
        """Return the answer once each partition is either replicated or will not be."""
        waiting = []
        for awaited in self._awaited:
            error = self._outcome(awaited)
            if error is None:
                waiting.append(awaited)
            else:
                self._work.settle(awaited, error)
        self._awaited = waiting
        return None if waiting else self._work.response()

    def expire(self) -> Any:
        """Return the answer; what is not replicated by now has taken too long."""
        response = self.answer()
        if response is not None:
            return response
        for awaited in self._awaited:
            self._work.settle(awaited, ErrorCode.REQUEST_TIMED_OUT)
        return self._work.response()

    def _outcome(self, awaited: AwaitedAppend) -> ErrorCode | None:
        if self._lookup.copy(awaited.partition) is None:
            return self._lookup.absence(awaited.partition)
        return awaited.led.replicated(awaited.end_offset)
