"""Moves the start of a log, and deletes the segments that are no longer kept (Kafka: deleteOldSegments)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from epoch.base.resource_limits import is_passing
from logstore.errors import OffsetOutOfRangeError
from logstore.log.state.log_guard import CHANGING, LogGuard
from logstore.log_config import MAX_INT64, NO_LIMIT, RETENTION_MS
from logstore.segment.expired_segments import (
    Condition,
    exceeds_age,
    exceeds_size,
    holds_nothing,
    is_before,
    select_expired,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from logstore.log.deleted_segments import DeletedSegments
    from logstore.log.flusher import Flusher
    from logstore.log.segment_roller import SegmentRoller
    from logstore.log.state.log_contents import LogContents
    from logstore.log.state.log_environment import LogEnvironment
    from logstore.segment.live_segment import LiveSegment

    Keep = Literal["forever"] | timedelta | int
    """A time, or as many milliseconds, after which segments may go; -1 is for ever."""

FOREVER: Final = "forever"


class Retention:
    """Takes away what lies at the start of a log. What a full disk can fail comes before anything changes."""

    def __init__(
        self,
        environment: LogEnvironment,
        contents: LogContents,
        guard: LogGuard,
        flusher: Flusher,
        roller: SegmentRoller,
        deleted: DeletedSegments,
    ) -> None:
        """Change a log, whose guard's lock the caller holds."""
        self._environment = environment
        self._contents = contents
        self._guard = guard
        self._flusher = flusher
        self._roller = roller
        self._deleted = deleted
        self._is_held_back = False
        """Whether it was reported that nothing is deleted by age."""

    def flush_below(self, offset: int) -> None:
        """Flush what holds the high watermark back from `offset`. Raises OSError."""
        contents = self._contents
        if contents.follows_flush and contents.high_watermark < offset <= contents.log_end_offset:
            self._flusher.insist(lambda: self._flusher.flush_to(contents.log_end_offset, include_active=True))

    def delete_records(self, before: int) -> bool:
        """Move the log's start to `before`; return whether it was earlier. Raises OffsetOutOfRangeError, OSError."""
        contents = self._contents
        if before > contents.high_watermark:
            raise OffsetOutOfRangeError(
                f"records can be deleted up to the high watermark {contents.high_watermark:,}, and not up to "
                f"{before:,}",
                file=self._environment.directory,
                offset=before,
                advice="flush the log first: the high watermark follows what is on stable storage"
                if contents.follows_flush and before <= contents.end[0]
                else "what is above it may still be truncated; wait until the high watermark has passed it",
            )
        if before <= contents.log_start_offset:
            return False
        # All that a full disk can fail comes first: nothing has changed in memory then.
        self._flusher.insist(lambda: self._flusher.flush_to(before, include_active=False))
        self._flusher.insist(lambda: self._flusher.write_checkpoints(before))
        self._guard.state = CHANGING
        contents.move_start(before)
        return True

    def delete_old_segments(self) -> int:
        """Delete what is below the start, and what is too old or too much; return how many segments that were."""
        config = self._environment.config
        deleted = self._delete(self._expired(is_before(self._contents.log_start_offset)))
        # Kafka deletes what is in remote storage already, of which nothing is known here.
        if config.is_deleted_by_retention and not config.remote_storage_enable:
            deleted += self._delete(self._expired(exceeds_size(self._contents.segments.size, config)))
            deleted += self._delete(self._too_old())
        self._deleted.remove_due()
        self._flusher.fill_reserve()
        return deleted

    def free(self) -> None:
        """Delete the segments that hold nothing from the start on, and remove the files of all that were deleted."""
        contents = self._contents
        self._delete(self._expired(holds_nothing(contents.log_start_offset, contents.log_end_offset)))
        self._deleted.remove_all()
        self._flusher.fill_reserve()

    def _too_old(self) -> Sequence[LiveSegment]:
        """Return what is too old by a clock that is trusted; else nothing, which is reported once."""
        environment = self._environment
        expired = self._expired(exceeds_age(environment.clock(), environment.retention_ms))
        clock = environment.watched_clock
        doubt = clock.doubt if expired and clock is not None else None
        if doubt is not None and not self._is_held_back:
            environment.events.held_back(environment.directory, doubt)
        self._is_held_back = doubt is not None
        return () if self._is_held_back else expired

    def _expired(self, condition: Condition) -> Sequence[LiveSegment]:
        contents = self._contents
        return select_expired(
            contents.segments.segments,
            condition,
            high_watermark=contents.high_watermark,
            log_end_offset=contents.log_end_offset,
        )

    def _delete(self, expired: Sequence[LiveSegment]) -> int:
        contents, environment = self._contents, self._environment
        if not expired:
            return 0
        if len(expired) == len(contents.segments):
            self._flusher.insist(lambda: self._roller.roll(contents.log_end_offset))
        kept = contents.segments.segments[len(expired) :]
        # All that a full disk can fail comes first: nothing has changed then.
        self._flusher.insist(lambda: self._flusher.flush_to(kept[0].base_offset, include_active=False))
        self._flusher.promise_from(max(kept[0].base_offset, contents.log_start_offset))
        self._guard.remove(lambda: self._drop_first_segments(expired, kept[0]))
        self._note_start()
        for segment in expired:
            environment.events.deleted(environment.directory, segment.base_offset, segment.size)
        return len(expired)

    def _drop_first_segments(self, expired: Sequence[LiveSegment], first: LiveSegment) -> None:
        contents, environment = self._contents, self._environment
        contents.drop_segments_before(first)
        self._deleted.add(expired)
        for segment in expired:
            contents.producers.delete_snapshot(segment.base_offset)
        environment.filesystem.fsync_directory(environment.directory)

    def _note_start(self) -> None:
        """Write where the log and its epochs begin; without space its first segment shows it; some was just made."""
        try:
            self._flusher.insist(self._contents.epochs.flush)
            self._flusher.insist(self._flusher.write_checkpoints)
        except OSError as error:
            if not is_passing(error):
                raise


def default_retention_ms(keep: Keep | None, *, replicated: bool) -> int:
    """Return the `retention_ms` of a log that sets none: for ever by default, Kafka's for who has copies elsewhere.

    Raises TypeError, and ValueError for what is no time to keep records.
    """
    if keep is None:
        return RETENTION_MS if replicated else NO_LIMIT
    if keep == FOREVER:
        return NO_LIMIT
    from datetime import timedelta  # noqa: PLC0415  start-up time

    kept_ms: object = keep // timedelta(milliseconds=1) if isinstance(keep, timedelta) else keep
    if not isinstance(kept_ms, int) or isinstance(kept_ms, bool):
        raise TypeError(f"keep is {keep!r}: pass 'forever', a timedelta, or a whole number, of milliseconds")
    if not NO_LIMIT <= kept_ms <= MAX_INT64:
        raise ValueError(f"keep is {kept_ms:,} ms: pass 'forever', a timedelta, or milliseconds from 0 on")
    return kept_ms
