"""A log that is read beside the process that writes it, or in a dead broker's directory."""

import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import datetime
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn, Self

from epoch.entry import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET, EndOffset
from epoch.history import MAX_EPOCH, EpochHistory
from logstore.arguments import deadline_after, ensure_one_place, start_time_ms, whole_number
from logstore.batch.batch_order import ADVICE, NO_OFFSET, UNKNOWN_NEXT, NextBatch, Surroundings, next_batch
from logstore.batch.record import Record
from logstore.errors import (
    CorruptBatchError,
    LogClosedError,
    NotALogDirectoryError,
    OffsetOutOfRangeError,
    ReadOnlyError,
    TornBatchError,
)
from logstore.event_loop import running_loop
from logstore.file_name import FileKind, file_name
from logstore.log_config import POLL_SECONDS
from logstore.offline.columns.column_source import ColumnSource
from logstore.offline.live.followed_segment import ensure_begins, ensure_follows, start_of
from logstore.offline.live.following import Following
from logstore.offline.live.known_listing import KnownListing
from logstore.offline.live.polled_tail import PolledTail
from logstore.offline.live.segment_piece import Piece, SeenBatch, SegmentPieces
from logstore.offline.live.time_search import offsets_since
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import checkpointed_history
from logstore.offline.segment import Segment
from logstore.segment.read_view import ReadView
from logstore.segment.single_record import record_at
from logstore.topic_partition import TopicPartition

if TYPE_CHECKING:
    from logstore.offline.columns.column_reader import Chunk

_ATTEMPTS: Final = 100
_LOOKS: Final = 10
"""At bytes that are no batch, before they count as damage."""


class ReadOnlyLog(ColumnSource):
    """Reads what is in the files at each moment: whole batches with valid checksums, copied, and none after damage.

    It takes no lock, writes nothing and maps nothing: the writer may append, roll, truncate and delete meanwhile. What
    it reads may not be on stable storage yet, and is lost if the machine then fails. The log's end is where the last
    whole batch ends; high watermark and transactions are not known. Threads may share it.

    >>> with Log.reader("events-0") as log:
    ...     for record in log.tail(log.log_start_offset):
    ...         print(record.value)
    """

    def __init__(self, directory: Path, partition: PartitionDirectory, poll_seconds: float) -> None:
        """Create a log from a listing of its directory; see `open`."""
        self.directory = directory
        self.topic_partition: TopicPartition = partition.topic_partition
        self.poll_seconds = poll_seconds
        self._listing = KnownListing(partition)
        self._next: tuple[int, int, int] | None = None
        """Where the last read ended: the segment's base offset, the position, and the offset that follows."""
        self._is_closed = False

    @classmethod
    def open(cls, directory: str | os.PathLike[str], *, poll_seconds: float = POLL_SECONDS) -> Self:
        """Open a partition directory, whose writer may be at work; tails look for more every `poll_seconds`.

        Raises NotALogDirectoryError, TypeError for what is no number, ValueError for seconds that are not above 0, and
        OSError.
        """
        path = Path(directory).absolute()
        if isinstance(poll_seconds, bool) or not isinstance(poll_seconds, int | float):
            raise TypeError(f"poll_seconds is {poll_seconds!r}: pass seconds, such as 0.05")
        if not poll_seconds > 0:
            raise ValueError(f"poll_seconds is {poll_seconds!r}: pass more than 0")
        return cls(path, PartitionDirectory.open(path), poll_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.directory})"

    def close(self) -> None:
        """End its tails. No file stays open between reads."""
        self._is_closed = True

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed

    # --- what it holds

    @property
    def log_start_offset(self) -> int:
        """The first offset that may be read, by the segments and checkpoints as they are now. Raises OSError."""
        return start_of(self._listed())

    @property
    def log_end_offset(self) -> int:
        """The offset after the last whole batch, as it is now. Raises OSError."""
        for _ in range(_ATTEMPTS):
            partition = self._listed()
            segments = partition.segments
            if not segments:
                return partition.log_start_offset
            try:
                with closing(SegmentPieces.of(segments[-1])) as pieces:
                    return max(pieces.end_offset(), partition.log_start_offset)
            except FileNotFoundError:
                self._listing.doubt()
        raise self._restless()

    @property
    def epochs(self) -> EpochHistory:
        """Which leader wrote which offsets, by the checkpoint as it is now. Raises epoch.EpochError, OSError."""
        return checkpointed_history(self._listed())

    def end_offset_for_epoch(self, epoch: int) -> EndOffset | None:
        """Return the largest epoch up to `epoch` in this log, and where it ends; None if that is unknown.

        Both as the files are now. Raises ValueError for what is no epoch, epoch.EpochError, and OSError.
        """
        epoch = whole_number(epoch, "epoch")
        if epoch < UNDEFINED_EPOCH:
            raise ValueError(f"epoch is {epoch:,}: pass one from 0 on")
        # In this order: who leads behind a cut is in the checkpoint before the log grows again. Until then there may be
        # entries of what was cut.
        end = self.log_end_offset
        answer = self.epochs.truncate_to(end).end_offset_for(epoch, end)
        return None if answer.end_offset == UNDEFINED_EPOCH_OFFSET else answer

    # --- reading

    def read(self, offset: int, max_bytes: int) -> ReadView:
        """Return whole batches from the one that holds `offset` on, up to `max_bytes`, of one segment.

        The first batch is returned even if it is larger. At the log's end the result is empty. Raises
        OffsetOutOfRangeError before the log's start or after its end, LogClosedError if the directory is gone, and
        OSError.
        """
        offset, max_bytes = whole_number(offset, "offset"), whole_number(max_bytes, "max_bytes")
        if max_bytes < 0:
            raise ValueError(f"{max_bytes} bytes cannot be read")
        return self.view(offset, *self.find(offset, max_bytes))

    def get(self, offset: int | None = None, *, key: object = None) -> Record | None:
        """Return the record at an offset; None where compaction has left none, and where a transaction's marker is.

        Raises OffsetOutOfRangeError below the log's start and from its end on, and what `read` and `ReadView.records`
        raise; ReadOnlyError for a key, which `Log.get` alone looks up.
        """
        if key is not None:
            raise ReadOnlyError(
                "a reader has no index of keys",
                file=self.directory,
                advice="ask the process that writes the log, by its `Log.get(key=...)`, or read the records",
            )
        return record_at(self, whole_number(offset, "offset"))

    def view(self, offset: int, segment_base_offset: int | None, piece: Piece) -> ReadView:
        """Give what `find` has found for `offset`."""
        if segment_base_offset is None:
            return ReadView(offset)
        path_of, look = partial(self._path_of, segment_base_offset), partial(self._end_of, segment_base_offset)
        surroundings = _PieceSurroundings(piece, path_of, look)
        return ReadView(
            offset,
            memoryview(piece.data),
            segment_base_offset,
            piece.position,
            first_batch_incomplete=False,
            surroundings=surroundings,
        )

    def _path_of(self, segment_base_offset: int) -> Path:
        return self.directory / file_name(FileKind.LOG, segment_base_offset)

    def _end_of(self, segment_base_offset: int) -> tuple[NextBatch, EpochHistory]:
        """Return what no batch of a segment reaches, and its epochs: certain only after a clean shutdown."""
        partition = self._listed()
        checkpoints = partition.checkpoints
        is_closed = checkpoints.clean_shutdown and checkpoints.recovery_point is not None
        history = checkpointed_history(partition) if is_closed else EpochHistory()
        end = NO_OFFSET if checkpoints.recovery_point is None or not is_closed else checkpoints.recovery_point
        later = [segment.base_offset for segment in partition.segments if segment.base_offset > segment_base_offset]
        latest = history.latest_epoch
        return NextBatch(min([end, *later]), MAX_EPOCH if latest is None else latest), history

    def find(self, offset: int, max_bytes: int) -> tuple[int | None, Piece]:
        """Do what `read` does; return the segment's base offset, None at the log's end, and what was found in it."""
        piece = self._find_next(offset, max_bytes)
        if piece is not None:
            return piece
        for attempt in range(_ATTEMPTS):
            partition = self._listed()
            try:
                return self._find_in(partition, offset, max_bytes)
            except FileNotFoundError:  # deleted since it was listed
                self._listing.doubt()
            except (CorruptBatchError, TornBatchError):
                # The place may have been found by headers of which some were just replaced.
                if attempt >= _LOOKS:
                    raise
        raise self._restless()

    def before(self, offset: int, offsets: int) -> Iterator[SeenBatch]:
        """Find the batches that hold the last so many offsets before `offset`, also below the log's start."""
        segments = [segment for segment in self._listed().segments if segment.base_offset < offset]
        for number, segment in enumerate(segments, 1):
            if number < len(segments) and segments[number].base_offset <= offset - offsets:
                continue
            # One may have been deleted since it was listed.
            with suppress(FileNotFoundError), closing(SegmentPieces.of(segment)) as pieces:
                yield from pieces.before(offset, offsets)

    def has(self, segment_base_offset: int, position: int, header: bytes, end_offset: int) -> bool:
        """Whether a batch with this header is still where it was, or was deleted at the log's start.

        What is deleted there ends where the first segment that is left begins, or before: a log that begins anew within
        the batch has lost it.
        """
        path = self._path_of(segment_base_offset)
        try:
            with closing(SegmentPieces(path, segment_base_offset, None)) as pieces:
                return pieces.holds(position, header)
        except FileNotFoundError:
            segments = self._listed().segments
            return bool(segments) and segments[0].base_offset >= end_offset

    def _chunks(self, start: int, end: int | None) -> "Iterator[Chunk]":
        from logstore.offline.columns.view_columns import read_columns  # noqa: PLC0415  numpy and numba load on first bulk use

        return read_columns(self.read, start, end)

    def records(
        self, start: int | None = None, end: int | None = None, *, since: int | datetime | None = None
    ) -> Iterator[Record]:
        """Iterate over the records from `start` on, by default the log's start, to its end, or below the offset `end`.

        `since` is a time to start from, as for `Log.records`; it is found by the headers of the batches, and by time
        indexes where these agree with them.

        Raises what `read` and `ReadView.records` raise, and LogTruncatedError if records were truncated that had been
        read, or that lay before the end at which it waits.
        """
        place = self._place(start, since, lambda: self.log_start_offset)
        end = None if end is None else whole_number(end, "end")
        return place.records(end)

    def tail(self, start: int | None = None, *, since: int | datetime | None = None) -> PolledTail:
        """Return an endless iterator, for `for` and `async for`, by default from the log's end on.

        It starts at `start` or `since`, as `records` does, looks every `poll_seconds` for more, and ends when this log
        is closed. Raises what `records` raises.
        """
        return PolledTail(self._place(start, since, lambda: self.log_end_offset), self.poll_seconds)

    def _place(self, start: int | None, since: int | datetime | None, default: Callable[[], int]) -> Following:
        ensure_one_place(start, since)
        if since is not None:
            return Following(self, self._offset_since(start_time_ms(since)))
        return Following(self, default() if start is None else whole_number(start, "start"))

    def _offset_since(self, timestamp: int) -> int:
        """Return the first offset whose record is not before `timestamp`, or the log's end."""
        end = self.log_end_offset  # first: what is appended while nothing is found may be late enough
        for _ in range(_ATTEMPTS):
            partition = self._listed()
            try:
                return next(offsets_since(self.read, partition.segments, start_of(partition), timestamp), end)
            except (FileNotFoundError, OffsetOutOfRangeError):  # deleted since it was listed
                self._listing.doubt()
        raise self._restless()

    # --- waiting

    def wait(self, offset: int, timeout: float | None = None) -> bool:
        """Wait until the log's end is beyond `offset`; return False if that takes more than `timeout` seconds.

        It looks every `poll_seconds`. Raises LogClosedError once this log is closed or its directory gone, and OSError.
        """
        offset, deadline = whole_number(offset, "offset"), deadline_after(timeout)
        while self.log_end_offset <= offset:
            if (seconds := self._pause(deadline)) <= 0:
                return False
            time.sleep(seconds)
        return True

    async def wait_async(self, offset: int, timeout: float | None = None) -> bool:  # noqa: ASYNC109  as `wait` has it
        """Do as `wait` does, in a task of asyncio or trio, without a thread."""
        loop = running_loop()
        offset, deadline = whole_number(offset, "offset"), deadline_after(timeout)
        while self.log_end_offset <= offset:
            if (seconds := self._pause(deadline)) <= 0:
                return False
            await loop.sleep(seconds)
        return True

    def _pause(self, deadline: float | None) -> float:
        return self.poll_seconds if deadline is None else min(self.poll_seconds, deadline - time.monotonic())

    # --- what it refuses

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise ReadOnlyError(
            "the log was opened to be read only", file=self.directory, advice="open it with `Log.open` to write it"
        )

    # One line each: of what has several targets, type checkers infer the type.
    append = _refuse
    submit = _refuse
    append_batches = _refuse
    append_end_transaction = _refuse
    assign_epoch = _refuse
    lead = _refuse
    update_high_watermark = _refuse
    advance_high_watermark = _refuse
    producer = _refuse
    backup = _refuse
    copy_into = _refuse
    compact = _refuse
    compact_if_due = _refuse
    truncate_to = _refuse
    truncate_fully_and_start_at = _refuse
    delete_records = _refuse
    delete_old_segments = _refuse
    trim = _refuse
    roll = _refuse
    flush = _refuse
    expire_producers = _refuse
    recover = _refuse
    cursor = _refuse

    # --- where offsets are

    def _listed(self) -> PartitionDirectory:
        """Return what is in the directory now."""
        if self._is_closed:
            raise LogClosedError("the log is closed", file=self.directory, advice="open it again")
        try:
            return self._listing.now()
        except (NotALogDirectoryError, FileNotFoundError) as error:
            raise LogClosedError(
                "the log's directory is gone: it was deleted or moved", file=self.directory, advice="open another log"
            ) from error

    def _find_next(self, offset: int, max_bytes: int) -> tuple[int, Piece] | None:
        """Go on where the last read ended, without a look at the directory; None where nothing follows there."""
        known, partition = self._next, self._listing.latest
        if known is None or known[2] != offset or self._is_closed or offset < partition.log_start_offset:
            return None
        segment = next((each for each in reversed(partition.segments) if each.base_offset == known[0]), None)
        if segment is None:
            return None
        try:
            with closing(SegmentPieces.of(segment)) as pieces:
                piece = pieces.read(known[1], max_bytes)
        except FileNotFoundError:
            return None
        if not piece.batches or piece.batches[0].base_offset != offset:
            return None
        return segment.base_offset, self._note(segment, piece)

    def _find_in(self, partition: PartitionDirectory, offset: int, max_bytes: int) -> tuple[int | None, Piece]:
        start, reached = start_of(partition), partition.log_start_offset
        if offset < start:
            self._refuse_offset(offset, start, None)
        ensure_begins(partition, start, offset)
        first = max(bisect_right(partition.segments, offset, key=attrgetter("base_offset")) - 1, 0)
        for segment in partition.segments[first:]:
            before = reached
            with closing(SegmentPieces.of(segment)) as pieces:
                position, reached = pieces.find(offset)
                is_last = segment is partition.segments[-1]
                piece = pieces.read_to_end(position, max_bytes, is_last=is_last)
                if piece.batches:
                    pieces.ensure_found(offset, piece, reached)
                elif position < pieces.size() or is_last:
                    self._ensure_end(partition, segment, position, reached, is_last=is_last, size=pieces.size())
            if segment is not partition.segments[first]:
                ensure_follows(partition, offset, before, segment.base_offset)
            if piece.batches:
                return segment.base_offset, self._note(segment, piece)
        # What a batch held that was cut in the middle is no offset of the files, and may still be the log's start.
        end = max(start, reached)
        if offset > end:
            self._refuse_offset(offset, start, end)
        return None, Piece(0, b"", ())

    def _ensure_end(
        self, partition: PartitionDirectory, segment: Segment, position: int, reached: int, *, is_last: bool, size: int
    ) -> None:
        """Raise CorruptBatchError where batches end although more of them were on stable storage.

        A writer may be in the middle of a batch, and a crash may have lost what is above the recovery point.
        """
        checkpoints = partition.checkpoints
        promised = checkpoints.recovery_point or 0
        if is_last and (reached >= promised or not (checkpoints.clean_shutdown or position < size)):
            return
        end = promised if is_last else None
        raise CorruptBatchError(
            "no batch begins here, although the log continues" + ("" if end is None else f" to {end:,}"),
            file=segment.log_path,
            position=position,
            offset=reached,
            advice=ADVICE,
        )

    def _note(self, segment: Segment, piece: Piece) -> Piece:
        self._next = segment.base_offset, piece.position + len(piece.data), piece.batches[-1].last_offset + 1
        return piece

    def _refuse_offset(self, offset: int, start: int, end: int | None) -> NoReturn:
        raise OffsetOutOfRangeError.outside_of(self.directory, offset, start, end, "read from its start or end")

    def _restless(self) -> OSError:
        return OSError(f"{self.directory}: segments were deleted faster than they could be listed; read again")


class _PieceSurroundings(Surroundings):
    """What lies around a piece; what lies before it was looked at as it was found."""

    def __init__(
        self, piece: Piece, path_of: Callable[[], Path], look: Callable[[], tuple[NextBatch, EpochHistory]]
    ) -> None:
        self._piece = piece
        self._path_of = path_of
        self._look = look

    @property
    def file(self) -> str:
        return str(self._path_of())

    @cached_property
    def _known(self) -> tuple[NextBatch, EpochHistory]:
        return self._look()

    def next_batch(self) -> NextBatch:
        following = self._piece.following
        return next_batch(memoryview(following), 0) if any(following) else UNKNOWN_NEXT

    def end(self) -> NextBatch:
        return self._known[0]

    def epoch_at(self, offset: int) -> int | None:
        return self._known[1].epoch_for_offset(offset)
