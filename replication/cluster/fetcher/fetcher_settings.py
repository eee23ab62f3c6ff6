"""As whom fetchers fetch, and how much at once."""

from dataclasses import dataclass
from typing import Final

from replication.cluster.fetcher.decisions.fetch_rules import MIRROR_RULES, REPLICA_RULES, FetchRules
from replication.wire.messages.replica_id import CONSUMER

_DEBUGGER: Final = -2
"""Instead of a broker's id: no replica, yet it gets the log's end, not the high watermark (Kafka: DEBUGGING)."""


@dataclass(frozen=True, slots=True)
class FetchIdentity:
    """As whom a follower sends its requests."""

    replica_id: int = CONSUMER
    """A broker's id, for a leader that counts it among its replicas; CONSUMER for a mirror."""
    replica_epoch: int = -1
    """The broker epoch under which the replica is registered (KIP-903)."""

    @property
    def is_mirror(self) -> bool:
        """Whether it is not a replica: it gets records below the high watermark only, and asks for epochs."""
        return self.replica_id == CONSUMER

    @property
    def offsets_replica_id(self) -> int:
        """The replica id in requests for the leader's log end offset."""
        return _DEBUGGER if self.is_mirror else self.replica_id


@dataclass(frozen=True, slots=True, kw_only=True)
class FetcherSettings:
    """How fetchers fetch from their leaders. Names in brackets are Kafka's settings of replicas."""

    identity: FetchIdentity = FetchIdentity()
    rules: FetchRules | None = None
    """None: the rules of a mirror, or of a replica since Kafka 2.7."""
    max_wait_ms: int = 500
    """How long the leader may wait for `min_bytes` (replica.fetch.wait.max.ms)."""
    min_bytes: int = 1
    """The leader responds once it has so many bytes (replica.fetch.min.bytes)."""
    max_bytes: int = 10 << 20
    """Most bytes of one response (replica.fetch.response.max.bytes); a larger first batch is sent whole."""
    max_partition_bytes: int = 1 << 20
    """Most bytes of one partition in one response (replica.fetch.max.bytes)."""

    @property
    def effective_rules(self) -> FetchRules:
        """The rules for following a current leader."""
        if self.rules is not None:
            return self.rules
        return MIRROR_RULES if self.identity.is_mirror else REPLICA_RULES
