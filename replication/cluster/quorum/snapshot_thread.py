"""The thread that keeps a copy of the metadata from growing: a thin shell around `SnapshotTerms`."""

import logging
from collections.abc import Callable
from typing import ClassVar, Final

from logstore.errors import LogStoreError
from replication.base.clock import monotonic_ms
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.cluster.quorum.snapshot_terms import SnapshotTerms
from replication.cluster.worker_thread import WorkerThread
from replication.records.metadata.image_publisher import PublishedImage

_log: Final = logging.getLogger(__name__)
_LOOK_SECONDS: Final = 1.0
_RETRY_SECONDS: Final = 60.0
_EXPECTED: Final = (LogStoreError, OSError)


class SnapshotThread(WorkerThread):
    """Makes snapshots of what another thread follows (Kafka: SnapshotGenerator).

    No error ends it, nor the broker, which needs none of them: a later try may succeed. Kafka's handler of such faults
    only counts and logs them too.
    """

    PASSING: ClassVar[tuple[type[Exception], ...]] = (Exception,)

    def __init__(
        self,
        local: LocalMetadata,
        published: Callable[[], PublishedImage],
        terms: SnapshotTerms,
        look_seconds: float = _LOOK_SECONDS,
    ) -> None:
        """Look after a copy, which stays the caller's; `published` returns what of it is committed and replayed."""
        super().__init__("metadata-snapshots")
        self._local: Final = local
        self._published: Final = published
        self._terms: Final = terms
        self._look_seconds: Final = look_seconds
        self._last_at = monotonic_ms()
        self._begins_at: int | None = None
        """Where the segment begins after the records that the next snapshot has; None where none is due."""

    def _round(self) -> None:
        published = self._published()
        if published.applied_offset >= 0:
            self._look(published)
        self._stopped.wait(self._look_seconds)

    def _look(self, published: PublishedImage) -> None:
        local = self._local
        if self._begins_at is None:
            if not self._terms.is_due(local.bytes_since_snapshot, monotonic_ms() - self._last_at):
                return
            # What is older can then be dropped with its segments, once it is committed and a later snapshot is there.
            local.log.roll()
            self._begins_at = local.log.log_end_offset
        if published.applied_offset + 1 < self._begins_at:
            return
        local.take_snapshot(published.image, published.applied_offset + 1, published.epoch, self._terms)
        self._begins_at = None
        self._last_at = monotonic_ms()

    def _lost(self, error: Exception) -> None:
        unexpected = None if isinstance(error, _EXPECTED) else error
        _log.error(
            "no snapshot of the metadata could be taken, whose copy keeps growing: %s", error, exc_info=unexpected
        )
        self._stopped.wait(_RETRY_SECONDS)
