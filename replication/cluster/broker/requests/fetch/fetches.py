"""Answers Fetch (KIP-74, KIP-227, KIP-320, KIP-392, KIP-516, KIP-595, KIP-951)."""

from replication.cluster.broker.requests.fetch.fetch_session import FetchSession
from replication.cluster.broker.requests.fetch.fetch_session_cache import FetchSessionCache
from replication.cluster.broker.requests.fetch.fetch_terms import MAX_BYTES, FetchTerms
from replication.cluster.broker.requests.fetch.full_fetch import FullFetch
from replication.cluster.broker.requests.fetch.incremental_fetch import IncrementalFetch
from replication.cluster.broker.requests.fetch.pending_fetch import Fetch, PendingFetch
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.cluster.fetcher.requests.throttle import Throttle
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import (
    FINAL_SESSION_EPOCH,
    INITIAL_SESSION_EPOCH,
    FetchRequest,
    FetchResponse,
)
from replication.wire.server.call import Call


class Fetches:
    """Answers at once where there is enough, else once there is (Kafka: FetchManager, ReplicaManager.fetchMessages)."""

    def __init__(
        self,
        lookup: PartitionLookup,
        sessions: FetchSessionCache | None = None,
        max_bytes: int = MAX_BYTES,
        throttle: Throttle | None = None,
    ) -> None:
        """Look the partitions up here; the sessions are the broker's, and so is the limit of an answer's size.

        `throttle` is for followers that are not in sync.
        """
        self._lookup = lookup
        self._max_bytes = max_bytes
        self._throttle = throttle
        self._sessions = FetchSessionCache() if sessions is None else sessions

    def answer(self, request: FetchRequest, call: Call) -> FetchResponse | PendingFetch:
        """Answer, or return what waits for the answer."""
        fetch = self._fetch(request, call.version)
        if isinstance(fetch, ErrorCode):
            return FetchResponse(error=fetch, partitions={})
        pending = PendingFetch(fetch, self._lookup, FetchTerms.of(request, call, self._max_bytes, self._throttle))
        return pending.answer() or pending

    def _fetch(self, request: FetchRequest, version: int) -> Fetch | ErrorCode:
        if request.session_epoch in (INITIAL_SESSION_EPOCH, FINAL_SESSION_EPOCH):
            self._sessions.remove(request.session_id)
            is_first = request.session_epoch == INITIAL_SESSION_EPOCH
            return FullFetch(request, version, self._lookup, self._sessions.add if is_first else None)
        session = self._sessions.resume(request, version)
        if isinstance(session, FetchSession):
            if self._lookup.viewpoint is not None:
                session.see_from((self._lookup.viewpoint, request.replica_id))
            return IncrementalFetch(session, self._lookup)
        return FullFetch(request, version, self._lookup) if session is None else session
