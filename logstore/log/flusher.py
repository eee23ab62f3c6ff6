"""Brings a log to stable storage, and writes down up to where it is there."""

from __future__ import annotations

import time
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

from epoch.base.resource_limits import name_memory
from logstore.files.only_copy.promised_offsets import (
    UNKNOWN_EPOCH,
    UNKNOWN_START,
    EpochsChecksum,
    PromisedOffsets,
    SmallFiles,
)
from logstore.log.late_sync import LateSync
from logstore.log.state.log_guard import ADDING, CLOSED, OPEN, POISONED
from logstore.log.state.lone_sync import LoneSync

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from logstore.files.only_copy.offset_gaps import OffsetGaps
    from logstore.files.own_checkpoints import OwnCheckpoints
    from logstore.log.state.log_contents import LogContents
    from logstore.log.state.log_environment import LogEnvironment
    from logstore.log.state.log_guard import LogGuard
    from logstore.segment.live_segment import LiveSegment
    from logstore.segment.segment_file import SegmentFile

T = TypeVar("T")


class Sync:
    """What one flush brings to stable storage."""

    __slots__ = ("changes", "files", "number", "offset", "segments")

    def __init__(self, number: int, segments: tuple[LiveSegment, ...], offset: int, changes: int) -> None:
        """Begin nothing yet; flushes are numbered."""
        self.number: int = number
        self.segments: tuple[LiveSegment, ...] = segments
        self.offset: int = offset
        """Where the log ended as it began."""
        self.changes: int = changes
        """What had been taken away until then: see `LogContents.changes`."""
        self.files: dict[SegmentFile, int] = {}
        """The segments' files, each with a descriptor that stays open until `end`."""

    def begin(self) -> None:
        """Open the files, and bring index files up to date, for who looks at them. Raises OSError.

        The indexes need no sync: those of earlier segments had it as the next one began, and recovery makes those of
        the last one anew.
        """
        for segment in self.segments:
            segment.indexes.save()
            self.files[segment.file] = segment.file.begin_sync()

    def end(self) -> None:
        """Close the files. Raises OSError."""
        while self.files:
            file, _ = self.files.popitem()
            file.end_sync()

    @property
    def names(self) -> tuple[int, int]:
        """What the names in the directory depend on: the last segment's, and what was taken away."""
        return self.segments[-1].base_offset, self.changes

    @property
    def last_segment(self) -> tuple[tuple[int, int], bool]:
        """Which it is, and whether it holds anything: a recovery point where it begins says nothing of that."""
        return self.names, self.offset > self.segments[-1].base_offset


class Flusher:
    """Syncs segments, and moves the recovery point behind them.

    A flush waits for the disk without the log's lock, so that appends and reads go on. All flushes that were called
    while one waits share the next one: however many threads there are, one waits for the disk and one is to come.
    """

    def __init__(
        self,
        environment: LogEnvironment,
        contents: LogContents,
        guard: LogGuard,
        own_checkpoints: OwnCheckpoints | None,
        promised: PromisedOffsets | None = None,
    ) -> None:
        """Write `own_checkpoints`, which a log that stands alone has, and what is `promised` by an only copy."""
        self._directory = environment.directory
        self._filesystem = environment.filesystem
        self._observer = environment.writes
        self._reserve = environment.reserve
        self._insist = environment.insist
        self._contents = contents
        self._guard = guard
        self._own_checkpoints = own_checkpoints
        self._promised = promised
        self._epochs_checksum = EpochsChecksum()
        self._turn = RLock()
        """Held by the thread whose flush waits for the disk; taken before the guard's lock, never after it."""
        self._lone_sync = LoneSync(guard)
        self.late: LateSync = LateSync(environment, contents, guard, self._lone_sync, self._change, self._finish)
        """That of a segment behind which the log has gone on."""
        guard.before_change = self._end_roll
        self._begun = 0
        """How many flushes have looked where the log ends."""
        self._done = 0
        """The number of the latest of them that is on stable storage."""
        self._synced_names: tuple[int, int] | None = None
        self._checkpointed: tuple[tuple[int, int], bool] | None = None
        """What the checkpoint files know of, where a flush wrote them."""

    def flush(self) -> int:
        """Return once everything appended before is on stable storage; return the recovery point."""
        guard = self._guard
        guard.ensure_own()
        guard.ensure_not_nested()
        needed = self._begun + 1
        with self._turn:
            # Whoever had the turn in between has synced what this call was to sync, too.
            if self._done < needed:
                self._sync()
        return self._contents.recovery_point

    def _sync(self) -> None:
        sync = self._begin()
        start = time.perf_counter()
        try:
            self._lone_sync.do(lambda: self._bring_down(sync))
        except BaseException as error:
            with self._guard.lock:
                sync.end()
                if isinstance(error, OSError) and self._guard.state is not CLOSED:
                    self._guard.poison_unless_full(error)
            raise
        with self._guard.lock:
            sync.end()
            if self._guard.state is not CLOSED:
                self._guard.ensure_open()
            if self._contents.changes == sync.changes:
                self._finish(sync.offset, start)
                self._synced_names = sync.names
                if sync.last_segment != self._checkpointed and self._guard.state is OPEN:
                    # Once for each segment, as recovery goes through all of it, wherever in it the recovery point is;
                    # and once more where it was empty then: a lost promise is to be known from them.
                    self._change(self.write_checkpoints)
                    self._checkpointed = sync.last_segment
            else:
                # Records were taken away meanwhile, and others may have taken their place.
                self._change(self._flush_all)
        self._done = max(self._done, sync.number)

    def _bring_down(self, sync: Sync) -> None:
        for descriptor in sync.files.values():
            self._filesystem.fsync(descriptor)
        if sync.names != self._synced_names:
            self._filesystem.fsync_directory(self._directory)

    def _end_roll(self) -> None:
        if self.late.is_under_way:
            self._change(self.late.end)

    def _begin(self) -> Sync:
        """Collect what there is to sync. Raises OSError, with nothing changed."""
        contents = self._contents
        self.late.sync()
        with self._guard.lock:
            self._end_roll()
            self._begun += 1
            sync = Sync(
                self._begun,
                contents.segments.from_offset(contents.recovery_point),
                contents.log_end_offset,
                contents.changes,
            )
            try:
                self._change(sync.begin)
                self._change(contents.epochs.flush)
            except BaseException:
                sync.end()
                raise
            return sync

    def _flush_all(self) -> None:
        self.flush_to(self._contents.log_end_offset, include_active=True)
        self.write_checkpoints()

    def _change(self, call: Callable[[], None]) -> None:
        """Call with the guard's lock held. Each step of `call` may be done again: there is nothing to take back."""
        guard = self._guard
        guard.ensure_open()
        try:
            guard.state = ADDING  # no signal handler is to write in between
            call()
            if guard.state is ADDING:
                guard.state = OPEN
        except BaseException as error:
            if guard.state is ADDING:
                guard.state = OPEN
            if isinstance(error, OSError):
                guard.poison_unless_full(error)
            name_memory(error, self._directory)
            raise

    def flush_to(self, offset: int, *, include_active: bool) -> None:
        """Sync the segments below `offset`, and with `include_active` the one that begins there.

        For whoever holds the guard's lock. Raises OSError.
        """
        contents = self._contents
        if offset < contents.recovery_point or (offset == contents.recovery_point and not include_active):
            return
        self.late.end()
        start = time.perf_counter()
        later = contents.segments.from_offset(contents.recovery_point)
        segments = [segment for segment in later if segment.base_offset < offset or include_active]
        for segment in segments:
            # Before anything is synced: a disk that is too full for them fails the flush, and not the log.
            segment.indexes.save()
        self._lone_sync.do(lambda: self._bring_down_all(segments))
        contents.epochs.flush()
        if self._promised is not None and later:
            # An offset within a batch tells recovery nothing of where batches are to end.
            behind = later[len(segments) :]
            offset = behind[0].base_offset if behind else contents.log_end_offset
        self._finish(offset, start)

    def _bring_down_all(self, segments: Sequence[LiveSegment]) -> None:
        for segment in segments:
            segment.flush()
        self._filesystem.fsync_directory(self._directory)

    def _finish(self, offset: int, start: float) -> None:
        """Move the recovery point behind what is on stable storage now."""
        contents = self._contents
        contents.move_recovery_point(offset)
        self._note_promise(contents.log_start_offset)
        if self._observer is not None:
            self._observer.flushed(self._directory, offset, time.perf_counter() - start)

    def note_small_files(self) -> None:
        """Note, of an only copy, what its other small files say by now. Raises OSError."""
        self._note_promise(self._contents.log_start_offset)

    def promise_from(self, log_start_offset: int) -> None:
        """Note durably, before anything is deleted, that nothing below is promised any more. Raises OSError."""
        if self._promised is not None:
            self._promised.take_back(self._contents.recovery_point, log_start_offset, self._small_files())

    def settle_promise(self) -> None:
        """Sync what is promised, as a log is closed that stands alone. Raises OSError."""
        if self._promised is not None and self._own_checkpoints is not None:
            contents = self._contents
            self._promised.take_back(contents.recovery_point, contents.log_start_offset, self._small_files())

    def promise_up_to(self, offset: int) -> None:
        """Note durably, before the log is cut at `offset`, that nothing from there on is promised. Raises OSError."""
        contents = self._contents
        if self._promised is not None:
            start, before = min(contents.log_start_offset, offset), contents.recovery_point
            self._promised.take_back(min(before, offset), start, self._before_cut(), cut_from=before)
        self._lower_checkpoints(offset)

    def promise_nothing(self, log_start_offset: int) -> None:
        """Note durably, before the log begins anew at an offset, that nothing is promised. Raises OSError."""
        if self._promised is not None:
            # A log that began anew, and was not flushed since, starts behind its recovery point.
            before = max(self._contents.recovery_point, self._contents.log_start_offset)
            self._promised.take_back(0, UNKNOWN_START, self._before_cut(), cut_from=before)
        self._lower_checkpoints(0, log_start_offset)

    def _lower_checkpoints(self, end: int, start: int | None = None) -> None:
        """Keep files of the log's own from claiming more than a cut leaves, whenever a crash comes."""
        contents = self._contents
        if self._own_checkpoints is not None:
            self._own_checkpoints.write(
                recovery_point=min(self.end_of_flushed, end),
                high_watermark=min(contents.high_watermark, end),
                log_start_offset=min(contents.log_start_offset, end if start is None else start),
                cleaner_offset=None if contents.cleaner_offset is None else min(contents.cleaner_offset, end),
            )

    def note_cut(self, kept_end: int, offset: int) -> None:
        """Know that the log ends at `offset` now, and its last batch at `kept_end`."""
        if self._promised is not None:
            self._promised.note_gap(kept_end, offset, self._contents.recovery_point)

    def note_roll(self, base_offset: int) -> None:
        """Note durably which offsets no batch will have before a segment that is to begin. Raises OSError."""
        if self._promised is None:
            return
        start = self._promised.start_of_gap(self._contents.log_end_offset)
        if start < base_offset:
            self.note_skipped(start, base_offset)

    def note_skipped(self, start: int, end: int) -> None:
        """Note durably that no batch has offsets from `start` up to a segment that begins at `end`. Raises OSError."""
        gaps = self._contents.gaps
        self.keep_gaps(gaps if gaps.covers(start, end) else gaps.with_skipped(start, end))

    def keep_gaps(self, gaps: OffsetGaps) -> None:
        """Know which offsets the log lacks, durably where no other node has a copy. Raises OSError."""
        if self._promised is not None and not (gaps.is_kept and gaps == self._contents.gaps):
            gaps = gaps.write(self._directory, self._filesystem)
        self._contents.gaps = gaps

    @property
    def end_of_flushed(self) -> int:
        """Where the batches end that are on stable storage; an only copy may have none up to its recovery point."""
        flushed = self._contents.recovery_point
        return flushed if self._promised is None else self._promised.start_of_gap(flushed)

    def insist(self, call: Callable[[], T]) -> T:
        """Do as `LogEnvironment.insist`, but for what a sync has failed with: the next one would not be told of it."""
        failed: OSError | None = None

        def attempt() -> T:
            nonlocal failed
            if failed is not None and self._guard.state is POISONED:
                raise failed
            try:
                return call()
            except OSError as error:
                failed = error
                raise

        return self._insist(attempt)

    def fill_reserve(self) -> None:
        """Keep that space again, once there is some."""
        if self._reserve is not None:
            self._reserve.fill()

    def write_checkpoints(self, log_start_offset: int | None = None) -> None:
        """Write where the log begins and up to where it is synced; only a log that stands alone does. Raises OSError.

        `log_start_offset` is where the log is about to begin.
        """
        contents = self._contents
        start = contents.log_start_offset if log_start_offset is None else log_start_offset
        self._note_promise(start)  # first: a checkpoint file that alone says how late the log starts is damaged
        if self._own_checkpoints is not None:
            self._own_checkpoints.write(
                recovery_point=self.end_of_flushed,
                high_watermark=contents.high_watermark,
                log_start_offset=start,
                cleaner_offset=contents.cleaner_offset,
            )
            self._promise(PromisedOffsets.forget_taken_back)

    def _note_promise(self, log_start_offset: int) -> None:
        """Write up to where the log is synced, of an only copy. Raises OSError."""
        recovery_point = self._contents.recovery_point
        self._promise(lambda promised: promised.note(recovery_point, log_start_offset, self._small_files()))

    def _promise(self, say: Callable[[PromisedOffsets], None]) -> None:
        """Write what is promised, of an only copy; an error ends all writing to the log. Raises OSError."""
        if self._promised is None or self._guard.state is CLOSED:  # a file of whoever has the directory by now
            return
        try:
            say(self._promised)
        except OSError as error:
            self._guard.poison_unless_full(error)
            raise

    def _small_files(self) -> SmallFiles:
        """Return what the log's other small files say by now."""
        contents = self._contents
        found = UNKNOWN_EPOCH if self._promised is None else self._promised.latest_epoch
        return SmallFiles.now(
            contents.epochs,
            contents.gaps,
            is_followed=contents.needs_epoch,
            found_epoch=found,
            checksum=self._epochs_checksum.of(contents.epochs),
        )

    def _before_cut(self) -> SmallFiles:
        """Return what they say whatever comes of a cut, which takes the latest epoch of a log that follows others."""
        files = self._small_files()
        files = files._replace(epochs_checksum=0)
        return files._replace(latest_epoch=UNKNOWN_EPOCH) if self._contents.needs_epoch else files
