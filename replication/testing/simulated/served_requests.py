"""What a broker of a simulated cluster answers, by the handlers of a real one."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final

from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.requests.epoch_ends import EpochEnds
from replication.cluster.broker.requests.fetch.fetch_session_cache import FetchSessionCache
from replication.cluster.broker.requests.fetch.fetches import Fetches
from replication.cluster.broker.requests.fetch.pending_fetch import PendingFetch
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.listed_offsets import ListedOffsets
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.cluster.broker.requests.writing.pending_outcomes import PendingOutcomes
from replication.cluster.broker.requests.writing.produces import Produces
from replication.cluster.broker.requests.writing.transaction_verification import NoCoordinator
from replication.cluster.node.session_guard import SessionGuard
from replication.testing.simulated.network import Reply
from replication.testing.simulated.process import Process
from replication.wire.messages import list_offsets, offset_for_leader_epoch, produce
from replication.wire.messages.fetch import FetchRequest, FetchResponse, fetch_versions
from replication.wire.messages.list_offsets import ListOffsetsRequest
from replication.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from replication.wire.messages.produce import ProduceRequest
from replication.wire.server.call import Call, Caller

LISTENER: Final = "PLAINTEXT"
_CALLER: Final = Caller("simulated", listener=LISTENER)
_LAST_VERSIONS: Final[Mapping[type, int]] = {
    ListOffsetsRequest: list_offsets.VERSIONS[-1],
    OffsetForLeaderEpochRequest: offset_for_leader_epoch.VERSIONS[-1],
    ProduceRequest: produce.SINCE_TOPIC_IDS - 1,
}


class ServedRequests:
    """Answers Fetch, Produce, OffsetForLeaderEpoch and ListOffsets, at once or once there is an answer."""

    def __init__(
        self, process: Process, hosted: HostedPartitions, known: KnownCluster, random: Random, guard: SessionGuard
    ) -> None:
        """Answer from what a broker has, as long as its session lasts."""
        lookup = PartitionLookup(hosted, known)
        sessions = FetchSessionCache(clock=lambda: process.now_ms / 1_000, random=random)
        self._process: Final = process
        self._handlers: Final[Mapping[type, Callable[[Any, Call], Any]]] = {
            FetchRequest: guard.fetch(Fetches(lookup, sessions).answer),
            ProduceRequest: guard.produce(Produces(lookup, NoCoordinator()).answer),
            OffsetForLeaderEpochRequest: EpochEnds(lookup).answer,
            ListOffsetsRequest: guard.list_offsets(ListedOffsets(lookup).answer),
        }
        self._waiting: Final[dict[int, _Waiting]] = {}
        self._count = 0
        self._woken: Final[set[int]] = set()

    def answer_now(self, request: Any) -> Any:
        """Return the answer to a request that waits for nothing."""
        return _sendable(self._handlers[type(request)](request, _call(request)))

    def serve(self, request: Any, reply: Reply) -> None:
        """Answer, now or later."""
        answer = self._handlers[type(request)](request, _call(request))
        if not isinstance(answer, PendingFetch | PendingOutcomes):
            reply(_sendable(answer))
            return
        self._count += 1
        waiting = self._waiting[self._count] = _Waiting(self._count, answer, reply, self._wake)
        answer.attend(waiting)
        wait_ms = request.max_wait_ms if isinstance(request, FetchRequest) else request.timeout_ms
        self._process.after(wait_ms, partial(self._expire, self._count))
        self._try(self._count)

    def _wake(self, number: int) -> None:
        """Look at a request soon; not now, in the middle of whatever wakes it."""
        if not self._woken:
            self._process.after(0, self._look)
        self._woken.add(number)

    def _look(self) -> None:
        woken = sorted(self._woken)
        self._woken.clear()
        for number in woken:
            self._try(number)

    def _try(self, number: int) -> None:
        waiting = self._waiting.get(number)
        answer = None if waiting is None else waiting.pending.answer()
        if waiting is not None and answer is not None:
            self._finish(number, waiting, answer)

    def _expire(self, number: int) -> None:
        waiting = self._waiting.get(number)
        if waiting is not None:
            self._finish(number, waiting, waiting.pending.expire())

    def _finish(self, number: int, waiting: "_Waiting", answer: Any) -> None:
        del self._waiting[number]
        waiting.pending.leave(waiting)
        waiting.reply(_sendable(answer))


class _Waiting:
    """A request that waits, and is woken in the middle of any call."""

    def __init__(
        self, number: int, pending: PendingFetch | PendingOutcomes, reply: Reply, wake: Callable[[int], None]
    ) -> None:
        self.pending: Final = pending
        self.reply: Final = reply
        self._number: Final = number
        self._wake: Final = wake

    def wake(self) -> None:
        self._wake(self._number)


def _call(request: Any) -> Call:
    version = fetch_versions(request)[-1] if isinstance(request, FetchRequest) else _LAST_VERSIONS[type(request)]
    return Call(version, _CALLER)


def _sendable(answer: Any) -> Any:
    """Return an answer that shows no later state of a log."""
    if not isinstance(answer, FetchResponse):
        return answer
    copied = {key: each._replace(records=bytes(each.records)) for key, each in answer.partitions.items()}
    return replace(answer, partitions=copied)
