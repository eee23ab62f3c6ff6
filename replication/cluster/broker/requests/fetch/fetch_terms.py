"""Who fetches, how much, and how far they may read."""

import time
from typing import Final, NamedTuple, Self

from logstore import Isolation
from replication.cluster.fetcher.requests.throttle import Throttle
from replication.wire.messages.fetch import FetchRequest
from replication.wire.server.call import Call

MAX_BYTES: Final = 55 << 20
"""Of an answer (Kafka: fetch.max.bytes)."""

_SINCE_CLOSEST_REPLICA: Final = 11
"""From here on consumers may read from followers (KIP-392)."""


class FetchTerms(NamedTuple):
    """What holds for all partitions of a fetch (Kafka: FetchParams)."""

    version: int
    listener: str
    replica_id: int
    replica_epoch: int
    """In which the replica's broker is registered; -1 where the request does not say."""
    isolation: Isolation
    max_bytes: int
    min_bytes: int
    deadline: float
    """In seconds, by `time.monotonic()`: until then it waits for `min_bytes`."""
    waits: bool
    only_leader: bool
    """Whether a copy that does not lead refuses it."""
    throttle: Throttle | None = None
    """Of what followers that are not in sync fetch."""

    @property
    def is_follower(self) -> bool:
        """Whether another broker fetches, to keep a copy."""
        return self.replica_id >= 0

    @classmethod
    def of(
        cls, request: FetchRequest, call: Call, most_bytes: int = MAX_BYTES, throttle: Throttle | None = None
    ) -> Self:
        """Create it from a request, within the broker's own limit."""
        max_bytes = min(request.max_bytes, most_bytes)
        return cls(
            call.version,
            call.caller.listener,
            request.replica_id,
            request.replica_epoch,
            _isolation(request),
            max_bytes,
            min(request.min_bytes, max_bytes),
            time.monotonic() + request.max_wait_ms / 1_000,
            request.max_wait_ms > 0,
            request.replica_id >= 0 or call.version < _SINCE_CLOSEST_REPLICA,
            throttle if request.replica_id >= 0 else None,
        )


def _isolation(request: FetchRequest) -> Isolation:
    if request.replica_id >= 0:
        return Isolation.LOG_END
    return Isolation.READ_COMMITTED if request.isolation_level else Isolation.HIGH_WATERMARK
