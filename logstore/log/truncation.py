"""Truncates a log: lets it end earlier, or begin anew elsewhere."""

from collections.abc import Callable

from epoch.base.resource_limits import ensure_room, refuse_beyond_limit
from logstore.log.deleted_segments import DeletedSegments
from logstore.log.flusher import Flusher
from logstore.log.segment_roller import SegmentRoller
from logstore.log.state.leader_epochs import LeaderEpochs
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment
from logstore.log.state.log_guard import CHANGING, LogGuard
from logstore.producers.producer_replay import rebuild_producers
from logstore.producers.producer_state import ProducerState
from logstore.segment.segment_list import SegmentList


class Truncation:
    """Takes away what lies at the end of a log. What a limit can fail comes before anything changes."""

    def __init__(
        self,
        environment: LogEnvironment,
        contents: LogContents,
        guard: LogGuard,
        epochs: LeaderEpochs,
        flusher: Flusher,
        roller: SegmentRoller,
        deleted: DeletedSegments,
    ) -> None:
        """Change a log, whose guard's lock the caller holds."""
        self._environment = environment
        self._contents = contents
        self._guard = guard
        self._epochs = epochs
        self._flusher = flusher
        self._roller = roller
        self._deleted = deleted

    def end_at(self, offset: int) -> bool:
        """Truncate the log to `offset`; return whether it ended later."""
        contents = self._contents
        offset = contents.gaps.before_hole(offset)
        if offset >= contents.log_end_offset:
            self._epochs.truncate_to_end()
            return False
        ensure_room(self._environment.directory)
        if offset < contents.segments.first.base_offset:
            start = min(contents.log_start_offset, offset) if contents.keeps_beginning else offset
            self.start_at(offset, start, keeps_epochs=contents.keeps_beginning)
        else:
            self._cut_at(offset)
        return True

    def start_at(self, offset: int, log_start_offset: int, *, keeps_epochs: bool = False) -> None:
        """Drop everything here; the log goes on at `offset`. It may keep the epochs of what is in remote storage."""
        self._guard.state = CHANGING
        self._epochs.end_before_start_at(offset)
        self._flusher.promise_nothing(log_start_offset)
        self._truncate(lambda: self._begin_anew(offset, log_start_offset, keeps_epochs=keeps_epochs))

    def _cut_at(self, offset: int) -> None:
        # All that a limit can fail comes first: nothing has changed then.
        contents = self._contents
        kept = SegmentList([segment for segment in contents.segments.segments if segment.base_offset <= offset])
        try:
            first_gone, kept_end = kept.active.prepare_truncation(offset)
            producers = contents.producers.successor()
            self._rebuild(producers, kept, min(contents.log_start_offset, offset), offset)
        except OSError as error:
            refuse_beyond_limit(error, self._environment.directory)
            raise
        self._guard.state = CHANGING
        self._epochs.end_before_cut(first_gone)
        self._flusher.promise_up_to(kept_end)
        self._truncate(lambda: self._truncate_to(offset, first_gone, kept_end, kept, producers))

    def _truncate(self, cut: Callable[[], None]) -> None:
        contents, environment = self._contents, self._environment
        before = contents.segments.size
        self._guard.remove(cut)
        contents.wake()
        removed = before - contents.segments.size
        environment.events.truncated(environment.directory, contents.log_end_offset, removed)

    def _truncate_to(
        self, offset: int, first_gone: int, kept_end: int, kept: SegmentList, producers: ProducerState
    ) -> None:
        contents, environment = self._contents, self._environment
        contents.log_start_offset = min(contents.log_start_offset, offset)
        dropped = self._drop_segments_after(kept)
        contents.producers = producers.take_place()
        if dropped:
            # Before the cut: whatever a crash leaves of this has no hole. After the snapshot, which is synced too:
            # where file systems have a journal, one of its commits does for both.
            environment.filesystem.fsync_directory(environment.directory)
        contents.segments.active.truncate_to(offset, environment.clock())
        contents.set_end(offset)
        contents.epochs.truncate_to(offset)
        self._finish(first_gone, kept_end)

    def _drop_segments_after(self, kept: SegmentList) -> int:
        """Rename the segments that follow those that are kept, the last one first; return how many."""
        dropped = self._contents.segments.segments[len(kept) :]
        self._contents.segments = kept
        self._deleted.add(reversed(dropped))
        return len(dropped)

    def _begin_anew(self, offset: int, log_start_offset: int, *, keeps_epochs: bool) -> None:
        contents = self._contents
        self._deleted.add(reversed(contents.segments.segments))
        contents.segments = SegmentList([self._roller.create(offset)])
        if keeps_epochs:
            contents.epochs.truncate_to(offset)
        else:
            contents.epochs.clear_and_flush()
        contents.producers.truncate_fully_and_start_at(offset)
        contents.log_start_offset = log_start_offset
        contents.set_end(offset)
        contents.high_watermark = offset
        self._rebuild(contents.producers, contents.segments, log_start_offset, offset)
        self._finish(offset, offset)

    def _finish(self, first_gone: int, kept_end: int) -> None:
        contents = self._contents
        contents.current_epoch = -1
        contents.note_cut(first_gone)
        contents.move_high_watermark(contents.high_watermark)
        gaps = contents.gaps.within(contents.segments.first.base_offset, contents.log_end_offset)
        if gaps != contents.gaps:
            self._flusher.insist(lambda: self._flusher.keep_gaps(gaps))
        self._flusher.note_cut(kept_end, contents.log_end_offset)
        self._flusher.write_checkpoints()

    def _rebuild(self, producers: ProducerState, segments: SegmentList, start: int, end: int) -> None:
        now = self._environment.expiry_ms()
        rebuild_producers(producers, segments, log_start_offset=start, log_end_offset=end, now_ms=now)
