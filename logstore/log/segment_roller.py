"""Begins new segments (Kafka: LocalLog.roll)."""

from typing import Final

from logstore.log.flusher import Flusher
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment
from logstore.log.state.log_guard import REMOVING, LogGuard
from logstore.log.state.undo import Undo
from logstore.segment.live_segment import LiveSegment
from logstore.segment.segment_list import SegmentList

SYNCED_AT_ONCE: Final = 1 << 20
"""Bytes: a segment of so many is synced in a thread of its own, as the log goes on in the next one."""


class SegmentRoller:
    """Completes the active segment, and puts a new one after it."""

    def __init__(
        self, environment: LogEnvironment, contents: LogContents, guard: LogGuard, undo: Undo, flusher: Flusher
    ) -> None:
        """Draw how much earlier than `segment_ms` says the active segment ends."""
        self._environment = environment
        self._contents = contents
        self._guard = guard
        self._undo = undo
        self._flusher = flusher
        self.jitter_ms: int = self._draw_jitter()
        """So much earlier the active segment ends: not those of all logs at once."""

    def roll_unless_empty(self) -> None:
        """Begin a new segment at the log's end; an empty one stays the active one."""
        active, end_offset = self._contents.segments.active, self._contents.log_end_offset
        if active.size or active.base_offset < end_offset:
            self.roll(end_offset)

    def roll(self, expected_offset: int) -> LiveSegment:
        """Begin a new segment at `expected_offset`, or at the log's end where that is later. Raises OSError."""
        contents, late = self._contents, self._flusher.late
        base_offset = max(expected_offset, contents.log_end_offset)
        late.end()
        segments = contents.segments
        old = segments.active
        if base_offset == old.base_offset:
            return old
        is_late = False
        if base_offset < old.base_offset:
            segments = self._remove_empty(segments)
        else:
            old.deactivate()
            is_late = _may_wait(old, base_offset)
        # With the segment's own offset, so that recovery of the segment begins with this snapshot.
        contents.producers.end_offset = base_offset
        snapshot = contents.producers.take_snapshot(sync=not is_late)
        if not is_late:
            # Before the next segment has a name: a crash could leave that, and a hole in the log before it.
            self._flusher.flush_to(base_offset, include_active=True)
            self._flusher.note_roll(base_offset)
        self._undo.begun_segment = base_offset
        segment = self.create(base_offset, is_hidden=is_late)
        if is_late:
            late.begin(old, segment, has_snapshot=snapshot is not None)
        contents.segments = segments.with_appended(segment)
        contents.end = contents.log_end_offset, base_offset, 0
        self.jitter_ms = self._draw_jitter()
        self._environment.events.rolled(self._environment.directory, base_offset)
        if is_late:
            late.start()
        return segment

    def create(self, base_offset: int, *, is_hidden: bool = False) -> LiveSegment:
        """Make the files of a new segment, which the log does not have yet. Raises OSError."""
        environment = self._environment
        return LiveSegment.create(
            environment.directory,
            base_offset,
            environment.config,
            environment.filesystem,
            created_ms=environment.clock(),
            open_files=environment.open_files,
            is_hidden=is_hidden,
        )

    def _remove_empty(self, segments: SegmentList) -> SegmentList:
        """Go on before an empty segment: an append with a gap rolled, and then failed."""
        contents, guard = self._contents, self._guard
        before, guard.state = guard.state, REMOVING
        kept = contents.segments = SegmentList(segments.segments[:-1])
        contents.set_end(contents.log_end_offset)
        segments.active.remove()
        guard.state = before
        return kept

    def _draw_jitter(self) -> int:
        config = self._environment.config
        most = min(config.segment_jitter_ms, config.segment_ms)
        if not most:
            return 0
        from random import randrange  # noqa: PLC0415  start-up time

        return randrange(most)  # noqa: S311  no secret


def _may_wait(segment: LiveSegment, end_offset: int) -> bool:
    """Whether a segment is large enough to be synced later, and shows by its end alone that all of it is there."""
    if segment.size < SYNCED_AT_ONCE or segment.file.was_cut:
        return False
    return segment.reader.end_before(segment.size) == end_offset
