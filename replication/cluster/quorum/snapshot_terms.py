"""When a node makes a snapshot of its copy of the metadata, and how long it keeps earlier ones. No clock, no I/O."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotTerms:
    """Limits of a copy's growth, by Kafka's names and defaults (Kafka: SnapshotGenerator, KafkaMetadataLog)."""

    record_bytes: int = 20 << 20
    """A snapshot is due after so many bytes of records (metadata.log.max.record.bytes.between.snapshots)."""
    interval_ms: int = 3_600_000
    """And after so long, if there are new records; 0: never for that (metadata.log.max.snapshot.interval.ms)."""
    retention_bytes: int = 100 << 20
    """Snapshots and log together; -1: any number (metadata.max.retention.bytes)."""
    retention_ms: int = 604_800_000
    """Of what is older than this nothing is kept that a later snapshot has too; -1: all (metadata.max.retention.ms)."""

    def is_due(self, bytes_since: int, ms_since: int) -> bool:
        """Whether a snapshot is due, so many bytes and milliseconds after the last."""
        return bytes_since >= self.record_bytes or 0 < self.interval_ms <= ms_since

    def is_over(self, size: int, age_ms: int) -> bool:
        """Whether the oldest of what is kept has to go: by the size of all, or by its own age."""
        return 0 <= self.retention_bytes < size or 0 <= self.retention_ms < age_ms
