"""What a mirror is to copy, from where, and to where."""

from dataclasses import dataclass, field
from pathlib import Path

from replication.mirror.mirror_directory import MIRROR_NODE_ID
from replication.protocol.client.client_settings import ClientSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSettings:
    """Names in brackets are Kafka's settings."""

    bootstrap: str
    """Brokers to ask for the others (bootstrap.servers)."""
    topics: tuple[str, ...]
    partitions: frozenset[int] = frozenset()
    """Only these, of each topic; none: all, those too that are added later."""
    log_dir: Path
    """The root of the copy (log.dirs)."""
    node_id: int = MIRROR_NODE_ID
    """The copy's node.id in meta.properties; no broker's, so that nobody takes the copy for that broker's own."""
    client: ClientSettings = field(default_factory=ClientSettings)
    keep_truncated: Path | None = None
    """Where truncated records are kept; None: nowhere."""
    threads: int = 1
    """Fetchers for each leader (num.replica.fetchers)."""
    throttle: int | None = None
    """Bytes a second, for all partitions together (follower.replication.throttled.rate); None: no limit."""
    metadata_max_age_ms: int = 60_000
    """How often it is looked for new partitions and new leaders, though nothing told of them (metadata.max.age.ms)."""
    patience_ms: int = 5_000
    """How long a partition may have no leader, or no broker answer, before that is told: elections take less."""
    max_partition_bytes: int = 8 << 20
    """Most of one partition in one answer (max.partition.fetch.bytes)."""
    max_bytes: int = 32 << 20
    """Most of one answer (fetch.max.bytes)."""
