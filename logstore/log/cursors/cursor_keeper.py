"""What cursors do with a log and its directory."""

from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from logstore.arguments import ensure_bool, whole_number
from logstore.batch.record import Record
from logstore.errors import OffsetOutOfRangeError, complete, inherited_log
from logstore.file_name import CURSOR_SUFFIX
from logstore.log.cursors.committed_position import CommittedPosition
from logstore.log.flusher import Flusher
from logstore.log.reading.isolation import Isolation
from logstore.log.reading.log_streams import LogStreams
from logstore.log.reading.place import Place
from logstore.log.reading.tail import Tail
from logstore.log.state.call_guard import CallGuard
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment
from logstore.log.state.log_guard import LogGuard


class CursorKeeper(CallGuard):
    """Commits one cursor at a time, without the log's lock while the disk is at work."""

    def __init__(
        self,
        environment: LogEnvironment,
        contents: LogContents,
        guard: LogGuard,
        flusher: Flusher,
        streams: LogStreams,
    ) -> None:
        """Touch nothing yet."""
        super().__init__(environment.directory, "log's cursors")
        self._filesystem = environment.filesystem
        self._contents = contents
        self._log = guard
        self._flusher = flusher
        self._streams = streams

    def refuse(self) -> NoReturn:
        """Raise that the log is another process's."""
        raise inherited_log(self._directory)

    def ensure_usable(self) -> None:
        """Raise LogClosedError, and ReentrantCallError in a signal handler within a commit or a call of the log."""
        self.ensure_not_nested()
        self._log.ensure_may_begin()

    def committed_names(self) -> list[str]:
        """List the cursors that have a file. Raises OSError."""
        self._log.ensure_readable()
        found = (path.name for path in self._directory.glob(f"*{CURSOR_SUFFIX}"))
        return sorted(name.removesuffix(CURSOR_SUFFIX) for name in found)

    def find(self, name: str) -> tuple[Place, int | None]:
        """Return where a cursor is, and where it was committed. Raises CorruptCheckpointError, OSError."""
        contents = self._contents
        # First: a truncation that comes in between is noted behind the place, and told as well.
        place = Place(self._directory, contents, contents.local_log_start_offset, advice="with `cursor.seek({0})`")
        committed = CommittedPosition.read(self._path(name))
        if committed is None:
            return place, None
        place.offset = committed.offset
        place.diverge(committed.divergence(contents.epochs.history, contents.log_start_offset, contents.end_of_epochs))
        return place, committed.offset

    def records(self, place: Place, end: int | None, isolation: Isolation, *, skip_holes: bool) -> Iterator[Record]:
        """See `Cursor.records`."""
        self._log.ensure_readable()
        place.ensure_valid()
        ensure_bool(skip_holes, "skip_holes")
        end = None if end is None else whole_number(end, "end")
        return self._streams.records_from(place, end, isolation, skip_holes=skip_holes)

    def tail(self, place: Place, isolation: Isolation, *, skip_holes: bool) -> Tail:
        """See `Cursor.tail`."""
        self._log.ensure_readable()
        place.ensure_valid()
        ensure_bool(skip_holes, "skip_holes")
        return self._streams.tail_from(place, isolation, skip_holes=skip_holes)

    def commit(self, name: str, place: Place, offset: int | None) -> int:
        """See `Cursor.commit`."""
        offset = place.offset if offset is None else whole_number(offset, "offset")
        self.ensure_usable()
        with self.lock:
            with self._log.lock:  # no truncation comes in between
                self._log.ensure_readable()
                place.ensure_valid()
                self._ensure_within(offset, 0)
                committed = CommittedPosition.at(offset, self._contents.epochs.history)
            if offset > self._contents.recovery_point:
                self._flusher.flush()
            path = self._path(name)
            try:
                self._filesystem.write_atomically(path, committed.encode())
            except OSError as error:
                complete(error, path, "the cursor is where it was committed before: commit it again")
                raise
        return offset

    def seek(self, place: Place, offset: int) -> None:
        """See `Cursor.seek`."""
        offset = whole_number(offset, "offset")
        self._log.ensure_not_nested()
        with self._log.lock:
            self._log.ensure_readable()
            self._ensure_within(offset, self._contents.log_start_offset)
            place.move(offset)

    def delete(self, name: str) -> None:
        """See `Cursor.delete`."""
        self.ensure_usable()
        with self.lock:
            path = self._path(name)
            if path.exists():
                self._filesystem.unlink(path)
                self._filesystem.fsync_directory(self._directory)

    def _ensure_within(self, offset: int, start: int) -> None:
        end = self._contents.end[0]
        if not start <= offset <= end:
            raise OffsetOutOfRangeError(
                f"a cursor of this log can be at offsets {start:,} to {end:,}, and not at {offset:,}",
                file=self._directory,
                offset=offset,
                advice="pass the offset of a record, or the log's end",
            )

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}{CURSOR_SUFFIX}"
