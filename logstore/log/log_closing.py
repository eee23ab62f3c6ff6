"""The end of a log: in order, or as if the process had died."""

from logstore.files.directory_lock import DirectoryLock
from logstore.files.own_checkpoints import OwnCheckpoints
from logstore.log.deleted_segments import DeletedSegments
from logstore.log.flusher import Flusher
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_guard import ADDING, CLOSED, REMOVING, LogGuard


class LogClosing:
    """Closes a log's files and lets go of its directory; the caller holds the log's lock."""

    def __init__(
        self,
        contents: LogContents,
        guard: LogGuard,
        flusher: Flusher,
        deleted: DeletedSegments,
        own_checkpoints: OwnCheckpoints | None,
        directory_lock: DirectoryLock | None,
    ) -> None:
        """Close nothing yet; a log that stands alone has checkpoint files and a lock of its own."""
        self._contents = contents
        self._guard = guard
        self._flusher = flusher
        self._deleted = deleted
        self._own_checkpoints = own_checkpoints
        self._directory_lock = directory_lock
        self.is_complete: bool = False
        """Whether the log was closed in order, with all on stable storage."""

    def close(self) -> None:
        """Flush, and close the files. Raises OSError, LogPoisonedError."""
        if self._guard.state is CLOSED:
            self._let_go()  # a call that was broken off may not have come to that
            return
        try:
            self._close()
        except OSError as error:
            error.add_note("`abandon()` closes the log as it is and writes nothing: to open it again then recovers it")
            raise

    def abandon(self) -> None:
        """Close the files and write nothing. Raises OSError."""
        self._guard.close()
        try:
            for segment in self._contents.segments.segments:
                segment.abandon()
            self._deleted.close()
        finally:
            self._let_go()

    def _close(self) -> None:
        self._guard.do_locked(ADDING, lambda: self._flusher.insist(self._complete))
        # Even a full disk poisons it now: the mark of an orderly stop may be there, and nothing must follow it.
        self._guard.do_locked(REMOVING, self._release)
        self._deleted.close()
        self._let_go()

    def _complete(self) -> None:
        """Bring all files up to date."""
        self._contents.producers.take_snapshot()
        self._contents.segments.active.deactivate()
        self._flusher.flush_to(self._contents.log_end_offset, include_active=True)

    def _release(self) -> None:
        for segment in self._contents.segments.segments:
            segment.close()
        self._flusher.insist(self._flusher.write_checkpoints)
        self._flusher.settle_promise()
        if self._own_checkpoints is not None:
            self._flusher.insist(self._own_checkpoints.mark_closed)
        self.is_complete = True

    def _let_go(self) -> None:
        self._guard.close()
        self._contents.wake()
        self._contents.epochs.close(self._guard.refuse)
        if self._directory_lock is not None:
            self._directory_lock.release()
