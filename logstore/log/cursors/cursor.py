"""A place in a log that has a name and outlives the program."""

from collections.abc import Iterator

from logstore.batch.record import Record
from logstore.log.cursors.cursor_keeper import CursorKeeper
from logstore.log.reading.isolation import Isolation
from logstore.log.reading.place import Place
from logstore.log.reading.tail import Tail


class Cursor:
    """Where a reader is in a log, and up to where it has committed: `Log.cursor` makes it.

    Iterating moves `position` behind each record as it is yielded; `commit` writes it down. A program that stops in
    between goes on at what is committed: it gets each record at least once.

    If records that were read are truncated, in this process or before, every use raises LogTruncatedError, whose
    `offset` says where the histories diverge, until `seek` says where to go on.

    >>> cursor = log.cursor("billing")
    >>> for record in cursor:
    ...     bill(record)
    >>> cursor.commit()
    """

    def __init__(self, keeper: CursorKeeper, name: str, place: Place, committed: int | None) -> None:
        """Create a cursor from the content of its file."""
        self._keeper = keeper
        self.name = name
        self._place = place
        self._committed = committed

    def __repr__(self) -> str:
        return f"Cursor({self.name!r}, position={self.position}, committed={self._committed})"

    @property
    def position(self) -> int:
        """The offset to read next. A new cursor begins at the log's start."""
        return self._place.offset

    @property
    def committed(self) -> int | None:
        """The position that was committed last; None if none was."""
        return self._committed

    def __iter__(self) -> Iterator[Record]:
        return self.records()

    def records(
        self, end: int | None = None, *, isolation: Isolation = Isolation.LOG_END, skip_holes: bool = False
    ) -> Iterator[Record]:
        """Iterate over the records from `position` on, as `Log.records` does."""
        return self._keeper.records(self._place, end, isolation, skip_holes=skip_holes)

    def tail(self, *, isolation: Isolation = Isolation.LOG_END, skip_holes: bool = False) -> Tail:
        """Iterate from `position` on and wait for more, as `Log.tail` does."""
        return self._keeper.tail(self._place, isolation, skip_holes=skip_holes)

    def commit(self, offset: int | None = None) -> int:
        """Keep `offset`, by default `position`, on stable storage; return it.

        Flushes the log before if needed: a crash or power loss leaves no cursor beyond the log's end. Raises
        OffsetOutOfRangeError for an offset beyond the log's end, LogTruncatedError, LogClosedError, LogPoisonedError
        if the log cannot be flushed, ReentrantCallError in a signal handler within a commit, and OSError, with the
        committed position unchanged.
        """
        self._committed = self._keeper.commit(self.name, self._place, offset)
        return self._committed

    def seek(self, offset: int) -> None:
        """Go on from `offset`, also after a truncation. Nothing is committed. Raises OffsetOutOfRangeError."""
        self._keeper.seek(self._place, offset)

    def delete(self) -> None:
        """Delete the cursor's file; the position stays. Raises OSError."""
        self._keeper.delete(self.name)
        self._committed = None
