"""What a log holds at one moment, as a backup needs it."""

from dataclasses import dataclass

from epoch.entry import EpochEntry
from logstore.file_name import FileKind
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_guard import LogGuard
from logstore.segment.live_segment import LiveSegment


@dataclass(frozen=True, slots=True)
class LogMoment:
    """A prefix of a log that only grows from here on, as long as nothing is taken away from it."""

    changes: int
    """What had been taken away until then: see `LogContents.changes`."""
    segments: tuple[tuple[LiveSegment, int], ...]
    """Each with its bytes; the last one is the active one."""
    active_indexes: dict[FileKind, bytes]
    """The files of the active segment's indexes, as they would be if it were closed."""
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    cleaner_offset: int | None
    """Below it the log was compacted; None if it never was."""
    epochs: tuple[EpochEntry, ...]
    producers: bytes
    """The snapshot of the producers at the log's end."""
    snapshot_offsets: tuple[int, ...]
    """Of the earlier snapshots of producers, which are files."""

    @classmethod
    def now(cls, contents: LogContents, guard: LogGuard) -> "LogMoment":
        """Look at a log, with its lock held for as long. Raises LogPoisonedError, LogClosedError, OSError."""
        guard.ensure_not_nested()
        with guard.lock:
            guard.ensure_open()
            active = contents.segments.active
            return cls(
                contents.changes,
                tuple((segment, segment.size) for segment in contents.segments.segments),
                active.indexes.encode(*active.largest),
                contents.log_start_offset,
                contents.log_end_offset,
                contents.high_watermark,
                contents.cleaner_offset,
                tuple(contents.epochs.entries),
                contents.producers.snapshot().encode(),
                contents.producers.snapshot_offsets,
            )
