"""What a log holds at a moment: its segments, offsets, leader epochs and producers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from logstore.log.state.waiters import Waiters
from logstore.segment.segment_list import SegmentList

if TYPE_CHECKING:
    from epoch.cache import LeaderEpochFileCache
    from logstore.files.only_copy.offset_gaps import Hole, OffsetGaps
    from logstore.log.leadership import Leadership
    from logstore.producers.producer_state import ProducerState
    from logstore.recovery.loaded_log import LoadedLog
    from logstore.segment.live_segment import LiveSegment

LogPlace = tuple[int, int, int]
"""Where an offset is: all batches before a position of a segment end below it. Offset, segment's first, position.

A plain tuple, as one is made at each append (Kafka: LogOffsetMetadata).
"""


class Cut:
    """A moment between two truncations of a log. Each leads to the next, and lasts as long as a reader stands there.

    So a reader hears of each truncation once, however late, and nobody keeps a list of readers.
    """

    __slots__ = ("next", "offset")

    def __init__(self) -> None:
        """Create the latest moment, which no truncation has ended."""
        self.offset: int = -1
        """Where the truncation that ended this moment has cut the log."""
        self.next: Self | None = None

    def end(self, offset: int) -> Self:
        """Return the next moment, which a truncation to `offset` begins."""
        self.offset = offset
        self.next = following = type(self)()
        return following


class LogContents:
    """Read by any thread without a lock, and changed by the one that holds the guard's.

    Appending puts a new `end` in place once the bytes are written. Whatever takes bytes away makes `changes` odd
    before and even after: who read meanwhile reads again.
    """

    __slots__ = (
        "begun_epoch",
        "changes",
        "cleaner_offset",
        "current_epoch",
        "end",
        "end_waiters",
        "epochs",
        "follows_flush",
        "gaps",
        "high_watermark",
        "is_following",
        "is_readable",
        "keeps_beginning",
        "last_cut",
        "leadership",
        "log_start_offset",
        "needs_epoch",
        "producers",
        "recovery_point",
        "segments",
        "watermark_waiters",
    )

    def __init__(self, loaded: LoadedLog) -> None:
        """Create the contents from what `load_log` found."""
        self.segments: SegmentList = SegmentList(loaded.segments)
        self.end: LogPlace = self._place_at(loaded.log_end_offset)
        self.changes: int = 0
        self.is_readable: bool = True
        """Until the log is closed; not in a process that was forked from the one that opened it."""
        self.log_start_offset: int = loaded.log_start_offset
        self.keeps_beginning: bool = loaded.keeps_beginning
        """Whether start and leader epochs stay when the first segments go: remote storage has those, or may."""
        self.high_watermark: int = self.local_log_start_offset
        self.follows_flush: bool = False
        """Whether the high watermark goes where the recovery point goes: nobody else moves it."""
        self.recovery_point: int = min(max(loaded.recovery_point, loaded.log_start_offset), loaded.log_end_offset)
        self.cleaner_offset: int | None = None
        """Everything below it was compacted; None where nothing was."""
        self.epochs: LeaderEpochFileCache = loaded.epochs
        self.current_epoch: int = -1
        """Batches of this epoch change nothing in the history of epochs; -1 where that is to be looked at."""
        self.begun_epoch: int = _begun_epoch(loaded)
        """One that was begun, or kept for the next leader, before the log was closed in order; -1 without any."""
        self.needs_epoch: bool = loaded.is_followed
        """Whether each append as the leader has to say in which epoch it is: other leaders write here, too."""
        self.is_following: bool = False
        """Whether the last one that wrote, or led, was another leader."""
        self.leadership: Leadership | None = None
        """The one that leads; None where that is nobody, or who appends without one."""
        self.producers: ProducerState = loaded.producers
        self.gaps: OffsetGaps = loaded.gaps
        """Offsets that are not there between two segments; each read asks whether there are holes."""
        self.last_cut: Cut = Cut()
        """Where the next truncation is noted, before `changes` is even again."""
        self.end_waiters: Waiters = Waiters()
        """Woken after each append, and by `wake`."""
        self.watermark_waiters: Waiters = Waiters()
        """Woken after each move of the high watermark, and by `wake`."""

    @property
    def local_log_start_offset(self) -> int:
        """The first offset that may be read here: what is below the first segment may be in remote storage."""
        return max(self.log_start_offset, self.segments.base_offsets[0])

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""
        return self.end[0]

    @property
    def end_of_epochs(self) -> int:
        """Where the latest leader epoch ends: below the log's end where a cut within a batch has left a gap there."""
        reserved, end = self.epochs.reserved, self.end[0]
        return end if reserved is None else min(end, reserved.start_offset)

    @property
    def holes(self) -> tuple[Hole, ...]:
        """What readers get errors for that is not below the log's start."""
        gaps = self.gaps
        return gaps.within(self.log_start_offset, self.end[0]).holes if gaps.holes else ()

    @property
    def last_stable_offset(self) -> int:
        """All transactions with records below it are decided."""
        # First: what it passes while the transactions are looked at may be an open one.
        high_watermark = self.high_watermark
        unstable = self.producers.first_unstable_offset
        if unstable is None:
            return high_watermark
        return min(max(unstable, self.log_start_offset), high_watermark)

    def set_end(self, offset: int) -> None:
        """Set the log end offset to `offset`, after all that the active segment holds."""
        self.end = self._place_at(offset)
        self.recovery_point = min(self.recovery_point, offset)
        if self.cleaner_offset is not None:
            self.cleaner_offset = min(self.cleaner_offset, offset)

    def set_cleaner_offset(self, offset: int | None) -> None:
        """Set how far the log is compacted, within its offsets: its last segment is never compacted."""
        self.cleaner_offset = None if offset is None else min(offset, self.segments.active.base_offset)

    def move_start(self, offset: int) -> None:
        """Move the log start offset to a later one."""
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self._follow_start(offset)

    def drop_segments_before(self, first: LiveSegment) -> None:
        """Make a later segment the first, and move the log's start to it, unless that was in remote storage."""
        starts_here = self.log_start_offset == self.local_log_start_offset
        self.segments = SegmentList(self.segments.segments[self.segments.segments.index(first) :])
        if first.base_offset <= self.log_start_offset:
            return
        if not self.keeps_beginning:
            self.move_start(first.base_offset)
        elif starts_here:  # the epochs below may be those of remote storage
            self.log_start_offset = first.base_offset
            self._follow_start(first.base_offset)

    def _follow_start(self, offset: int) -> None:
        self.producers.on_log_start_offset(offset)
        self.wake()

    def move_high_watermark(self, offset: int) -> int:
        """Move the high watermark, within the log's start and end; return where it is."""
        high_watermark = max(self.local_log_start_offset, min(offset, self.end[0]))
        try:
            self.high_watermark = high_watermark
            self.producers.on_high_watermark(high_watermark)
        finally:
            if self.watermark_waiters:
                self.watermark_waiters.wake()
        return high_watermark

    def move_recovery_point(self, offset: int) -> None:
        """Note that all below `offset` is on stable storage."""
        self.recovery_point = max(self.recovery_point, offset)
        if self.follows_flush and self.high_watermark < self.recovery_point:
            self.move_high_watermark(self.recovery_point)

    def begin_high_watermark(self, known: int, *, follows_flush: bool) -> None:
        """Begin where it was `known` to be; at the flushed end where it is to follow that until somebody moves it."""
        self.follows_flush = follows_flush
        self.move_high_watermark(max(known, self.recovery_point) if follows_flush else known)

    def note_cut(self, offset: int) -> None:
        """Notify readers that a truncation has cut the log at `offset`."""
        self.last_cut = self.last_cut.end(offset)

    def wake(self) -> None:
        """Wake all that wait for the log to change: it is not as it was, or will not change any more."""
        self.end_waiters.wake()
        self.watermark_waiters.wake()

    def _place_at(self, offset: int) -> LogPlace:
        active = self.segments.active
        return offset, active.base_offset, active.size


def _begun_epoch(loaded: LoadedLog) -> int:
    """Return the epoch that is kept for the next leader, where the file has it from before this open."""
    reserved = loaded.epochs.reserved
    if reserved is None or all(entry.epoch != reserved.epoch for entry in loaded.report.epochs_before):
        return -1
    return reserved.epoch
