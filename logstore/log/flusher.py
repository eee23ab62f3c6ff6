"""Brings a log to stable storage, and writes down up to where it is there."""

import time

from epoch.resource_limits import is_limit, name_memory
from logstore.files.own_checkpoints import OwnCheckpoints
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment
from logstore.log.state.log_guard import ADDING, OPEN, LogGuard


class Flusher:
    """Syncs segments, and moves the recovery point behind them."""

    def __init__(
        self,
        environment: LogEnvironment,
        contents: LogContents,
        guard: LogGuard,
        own_checkpoints: OwnCheckpoints | None,
    ) -> None:
        """Write `own_checkpoints`, which a log that stands alone has."""
        self._directory = environment.directory
        self._filesystem = environment.filesystem
        self._observer = environment.observer
        self._contents = contents
        self._guard = guard
        self._own_checkpoints = own_checkpoints

    def flush(self) -> int:
        """Return once everything appended is on stable storage; return the recovery point."""
        guard, contents = self._guard, self._contents
        guard.ensure_not_nested()
        with guard.lock:
            guard.ensure_open()
            try:
                # Each of its steps may be done again, and there is nothing to take back. But no signal handler is to
                # write in between.
                guard.state = ADDING
                self.flush_to(contents.log_end_offset, include_active=True)
                self.write_checkpoints()
                if guard.state is ADDING:
                    guard.state = OPEN
            except BaseException as error:
                if guard.state is ADDING:
                    guard.state = OPEN
                if isinstance(error, OSError):
                    guard.poison_unless_full(error)
                name_memory(error, self._directory)
                raise
            return contents.recovery_point

    def flush_to(self, offset: int, *, include_active: bool) -> None:
        """Sync the segments below `offset`, and with `include_active` the one that begins there. Raises OSError."""
        contents = self._contents
        if offset < contents.recovery_point or (offset == contents.recovery_point and not include_active):
            return
        start = time.perf_counter()
        later = contents.segments.from_offset(contents.recovery_point)
        segments = [segment for segment in later if segment.base_offset < offset or include_active]
        for segment in segments:
            # Before anything is synced: a disk that is too full for them fails the flush, and not the log.
            segment.indexes.save()
        try:
            for segment in segments:
                segment.flush()
            self._filesystem.fsync_directory(self._directory)
        except OSError as error:
            if not is_limit(error):
                self._guard.poison(error)
            raise
        contents.epochs.flush()
        contents.recovery_point = offset
        if self._observer is not None:
            self._observer.flushed(self._directory, offset, time.perf_counter() - start)

    def write_checkpoints(self, log_start_offset: int | None = None) -> None:
        """Write where the log begins and up to where it is synced; only a log that stands alone does. Raises OSError.

        `log_start_offset` is where the log is about to begin.
        """
        if self._own_checkpoints is not None:
            contents = self._contents
            self._own_checkpoints.write(
                recovery_point=contents.recovery_point,
                high_watermark=contents.high_watermark,
                log_start_offset=contents.log_start_offset if log_start_offset is None else log_start_offset,
            )
