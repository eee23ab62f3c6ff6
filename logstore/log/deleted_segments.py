"""Segments that are deleted, until their files are removed (Kafka: asyncDeleteSegment)."""

from collections import deque
from collections.abc import Iterable

from logstore.log.state.log_environment import LogEnvironment
from logstore.segment.live_segment import LiveSegment


class DeletedSegments:
    """Renamed at once, removed after a delay, so that readers have time to finish. Start-up removes what is left."""

    def __init__(self, environment: LogEnvironment) -> None:
        """Wait for `file_delete_delay_ms` before removing."""
        self._environment = environment
        self._waiting: deque[tuple[int, LiveSegment]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, segments: Iterable[LiveSegment], *, keep_snapshots: bool = False) -> None:
        """Rename the files of segments that nobody looks up any more; see `LiveSegment`. Raises OSError."""
        due = self._environment.clock() + self._environment.config.file_delete_delay_ms
        for segment in segments:
            segment.rename_to_deleted(keeps_snapshot=keep_snapshots)
            self._waiting.append((due, segment))
        self.remove_due()

    def remove_due(self) -> None:
        """Remove the files whose time has come. Raises OSError."""
        if self._waiting:
            now = self._environment.clock()
            while self._waiting and self._waiting[0][0] <= now:
                self._waiting.popleft()[1].remove()

    def remove_all(self) -> None:
        """Remove the files now: who reads them has them mapped, or looks again where the log begins. Raises OSError."""
        while self._waiting:
            self._waiting.popleft()[1].remove()

    def close(self) -> None:
        """Close the files and leave them. Raises OSError."""
        for _, segment in self._waiting:
            segment.file.close()
