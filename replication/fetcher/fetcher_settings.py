"""Who fetches, and how much at once."""

from dataclasses import dataclass
from typing import Final

from replication.fetcher.decisions.fetch_rules import MIRROR_RULES, REPLICA_RULES, FetchRules
from replication.protocol.messages.replica_id import CONSUMER

_DEBUGGER: Final = -2
"""Instead of a broker's id: no replica, and yet told the log's end and not the high watermark (Kafka: DEBUGGING)."""


@dataclass(frozen=True, slots=True)
class FetchIdentity:
    """As whom a follower asks."""

    replica_id: int = CONSUMER
    """A broker's id, for a leader that counts it among its replicas; CONSUMER for a mirror."""
    replica_epoch: int = -1
    """The broker epoch under which the replica is registered (KIP-903)."""

    @property
    def is_mirror(self) -> bool:
        """Whether it is no replica of the cluster: it sees what is below the high watermark, and asks for epochs."""
        return self.replica_id == CONSUMER

    @property
    def offsets_replica_id(self) -> int:
        """As whom it asks where the leader's log ends."""
        return _DEBUGGER if self.is_mirror else self.replica_id


@dataclass(frozen=True, slots=True, kw_only=True)
class FetcherSettings:
    """How fetchers ask their leaders. Names in brackets are Kafka's settings of replicas."""

    identity: FetchIdentity = FetchIdentity()
    rules: FetchRules | None = None
    """None: a mirror's or a replica's of today."""
    max_wait_ms: int = 500
    """How long a leader may wait for records (replica.fetch.wait.max.ms)."""
    min_bytes: int = 1
    """Until there are so many (replica.fetch.min.bytes)."""
    max_bytes: int = 10 << 20
    """Most of one answer (replica.fetch.response.max.bytes); a larger first batch comes whole."""
    max_partition_bytes: int = 1 << 20
    """Most of one partition in one answer (replica.fetch.max.bytes)."""

    @property
    def effective_rules(self) -> FetchRules:
        """By which rules it follows a leader of today."""
        if self.rules is not None:
            return self.rules
        return MIRROR_RULES if self.identity.is_mirror else REPLICA_RULES
