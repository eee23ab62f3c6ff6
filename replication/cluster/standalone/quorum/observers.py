"""Who fetches the metadata without a vote, and how far they are (Kafka: LeaderState's observer states)."""

from collections.abc import Callable
from threading import Lock
from typing import Final, NamedTuple
from uuid import UUID

from logstore.clock import now_ms
from replication.records.codec.fields import NO_ID
from replication.wire.messages.describe_quorum import QuorumReplica

SESSION_MS: Final = 300_000
"""After so long without a fetch, an observer is reported no more (Kafka: LeaderState.OBSERVER_SESSION_TIMEOUT_MS)."""


class _Progress(NamedTuple):
    told: QuorumReplica
    leader_end_offset: int
    """Where the leader's log ended at the last fetch."""


class Observers:
    """Noted by fetches, read by who describes the quorum. Thread-safe."""

    def __init__(self, clock: Callable[[], int] = now_ms) -> None:
        """Know of none; `clock` gives milliseconds since 1970 UTC."""
        self._clock: Final = clock
        self._lock: Final = Lock()
        self._known: Final[dict[tuple[int, UUID], _Progress]] = {}
        """Those that have fetched last come last."""

    def fetched(self, node_id: int, directory_id: UUID, fetch_offset: int, leader_end_offset: int) -> None:
        """Note that a node has all below `fetch_offset`, and asks for more."""
        now, key = self._clock(), (node_id, directory_id)
        with self._lock:
            self._forget_silent(now)
            before = self._known.pop(key, None)
            caught_up = -1 if before is None else before.told.last_caught_up_ms
            if fetch_offset >= leader_end_offset:
                caught_up = now
            elif before is not None and fetch_offset >= before.leader_end_offset:
                caught_up = max(caught_up, before.told.last_fetch_ms)
            directory = None if directory_id == NO_ID else directory_id
            told = QuorumReplica(node_id, fetch_offset, directory, now, caught_up)
            self._known[key] = _Progress(told, leader_end_offset)

    def living(self) -> tuple[QuorumReplica, ...]:
        """Return those that still fetch, by their ids."""
        with self._lock:
            self._forget_silent(self._clock())
            return tuple(self._known[key].told for key in sorted(self._known))

    def _forget_silent(self, now: int) -> None:
        while self._known:
            key, progress = next(iter(self._known.items()))
            if progress.told.last_fetch_ms >= now - SESSION_MS:
                return
            del self._known[key]
