"""What a mirror copies, from where, and to where."""

from dataclasses import dataclass, field
from pathlib import Path

from replication.cluster.mirror.mirror_directory import MIRROR_NODE_ID
from replication.wire.client.client_settings import ClientSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSettings:
    """Names in brackets are Kafka's settings."""

    bootstrap: str
    """Brokers to connect to first (bootstrap.servers)."""
    topics: tuple[str, ...]
    """Names, or patterns, which stand for the topics that match when the mirror is opened."""
    partitions: frozenset[int] = frozenset()
    """The partitions of each topic to copy; empty: all, including those added later."""
    log_dir: Path
    """The root of the copy (log.dirs)."""
    node_id: int = MIRROR_NODE_ID
    """The copy's node.id in meta.properties; not a broker's, so that the copy is not mistaken for that broker's own."""
    client: ClientSettings = field(default_factory=ClientSettings)
    keep_truncated: Path | None = None
    """Where truncated records are kept; None: they are not kept."""
    threads: int = 1
    """Fetchers for each leader (num.replica.fetchers)."""
    throttle: int | None = None
    """Bytes a second, for all partitions together (follower.replication.throttled.rate); None: no limit."""
    metadata_max_age_ms: int = 60_000
    """Milliseconds after which the metadata is refreshed even without errors (metadata.max.age.ms)."""
    patience_ms: int = 5_000
    """How long a partition may have no leader, or no broker answer, before that is reported: elections take less."""
    max_partition_bytes: int = 8 << 20
    """Most bytes of one partition in one response (max.partition.fetch.bytes)."""
    max_bytes: int = 32 << 20
    """Most bytes of one response (fetch.max.bytes)."""
