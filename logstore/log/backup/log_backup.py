"""A backup of one log, made while the log is in use."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from epoch.checkpoint import LeaderEpochCheckpoint
from logstore.errors import InvalidDirectoryNameError
from logstore.file_name import INDEX_KINDS, FileKind, file_name
from logstore.files.backup_mark import BACKUP_MARK, BackupMark, told_of
from logstore.files.directory_lock import LOCK_NAME
from logstore.files.followed_mark import FOLLOWED_MARK
from logstore.files.only_copy.offset_gaps import OFFSET_GAPS_NAME, OffsetGaps
from logstore.files.own_checkpoints import OwnCheckpoints
from logstore.files.partition_metadata import PARTITION_METADATA_NAME
from logstore.log.backup.backup_place import BackupPlace, ensure_unwritten, remove_if_there
from logstore.log.backup.log_moment import LogMoment
from logstore.log.backup.segment_copies import SegmentCopies
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment
from logstore.log.state.log_guard import LogGuard
from logstore.segment.live_segment import LiveSegment
from logstore.topic_partition import partition_standing_alone

_OF_SEGMENT: Final = (FileKind.LOG, *INDEX_KINDS)


@dataclass(frozen=True, slots=True)
class LogBackup:
    """What a backup holds: all of a log from its start up to where it ended at one moment."""

    directory: Path
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    copied_bytes: int
    """What was written for it."""
    kept_bytes: int
    """What was there: of an earlier backup, or of one that was broken off."""


class LogBackups:
    """Makes backups of one log. Its lock is held only to see what there is; appends and reads go on."""

    def __init__(self, environment: LogEnvironment, contents: LogContents, guard: LogGuard) -> None:
        """Make none yet."""
        self._directory = environment.directory
        self._filesystem = environment.filesystem
        self._contents = contents
        self._guard = guard

    def make(self, path: Path) -> LogBackup:
        """Make or update the backup at `path`; see `Log.backup`."""
        if path.name != self._directory.name:
            raise InvalidDirectoryNameError(
                f"a backup of {self._directory.name} at {path} could not be opened as that partition",
                file=path,
                advice=f"name it {path / self._directory.name}",
            )
        self._guard.ensure_writable()
        with BackupPlace(path, self._directory, self._filesystem) as place:
            made = self.copy(place.partial, path if path.exists() else None, stands_alone=True)
            place.complete()
        return replace(made, directory=path)

    def copy(self, target: Path, previous: Path | None, *, stands_alone: bool) -> LogBackup:
        """Bring `target` up to how the log is now; return what it has.

        `previous` is an earlier backup. One that `stands_alone` has checkpoint files of its own. Raises OSError,
        LogPoisonedError, LogClosedError.
        """
        if not target.exists():
            self._filesystem.mkdir(target)
        if previous is not None:
            ensure_unwritten(previous)
        copies = SegmentCopies(target, previous, self._filesystem)
        moment = LogMoment.now(self._contents, self._guard)
        while not self._bring(moment, copies):
            # Something was taken away meanwhile. What has come so far and is still in the log stays.
            moment = LogMoment.now(self._contents, self._guard)
        self._complete(moment, target, stands_alone=stands_alone)
        ends = moment.log_start_offset, moment.log_end_offset, moment.high_watermark
        return LogBackup(target, *ends, copies.copied_bytes, copies.kept_bytes)

    def _bring(self, moment: LogMoment, copies: SegmentCopies) -> bool:
        """Bring all files that may be taken away from the log; return False as soon as something was."""
        *closed, (active, active_size) = moment.segments
        metadata = self._directory / PARTITION_METADATA_NAME
        try:
            for segment, size in closed:
                copies.bring_closed(segment, size)
                if not self._still_has(moment, segment, size):
                    return False
            for offset in moment.snapshot_offsets:
                if moment.log_start_offset < offset < moment.log_end_offset:
                    name = file_name(FileKind.PRODUCER_SNAPSHOT, offset)
                    copies.bring_small(name, (self._directory / name).read_bytes())
            copies.bring_active(active, active_size, moment.active_indexes)
        except Exception:
            # It was deleted, or its bytes were let go of, as a truncation or retention does; all else is a failure.
            if self._still_has(moment, active, active.size):
                raise
            return False
        if not self._still_has(moment, active, active.size):
            return False
        topic_id = metadata.read_bytes() if metadata.is_file() else b""
        copies.bring_small(PARTITION_METADATA_NAME, topic_id, is_needed=bool(topic_id))
        mark = self._directory / FOLLOWED_MARK
        followed = mark.read_bytes() if mark.is_file() else b""
        copies.bring_small(FOLLOWED_MARK, followed, is_needed=bool(followed))
        copies.bring_small(file_name(FileKind.PRODUCER_SNAPSHOT, moment.log_end_offset), moment.producers)
        return True

    def _still_has(self, moment: LogMoment, segment: LiveSegment, size: int) -> bool:
        """Whether nothing was taken away since, and a closed segment has not become the active one again."""
        self._guard.ensure_readable()
        return self._contents.changes == moment.changes and segment.size == size

    def _complete(self, moment: LogMoment, target: Path, *, stands_alone: bool) -> None:
        """Write what lets the backup be opened without recovery, and remove what is not of this moment."""
        filesystem = self._filesystem
        LeaderEpochCheckpoint(target, filesystem).write(moment.epochs)
        names = {
            *(file_name(kind, segment.base_offset) for segment, _ in moment.segments for kind in _OF_SEGMENT),
            *(
                file_name(FileKind.PRODUCER_SNAPSHOT, each)
                for each in (*moment.snapshot_offsets, moment.log_end_offset)
            ),
            *(FileKind.LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA_NAME, FOLLOWED_MARK, BACKUP_MARK, LOCK_NAME),
        }
        gaps = self._contents.gaps.within(moment.segments[0][0].base_offset, moment.log_end_offset)
        if gaps != OffsetGaps():
            gaps.write(target, filesystem)
            names.add(OFFSET_GAPS_NAME)
        for path in sorted(target.iterdir()):
            if path.name not in names:
                remove_if_there(path, filesystem)
        if stands_alone:
            partition = partition_standing_alone(self._directory.name)
            checkpoints = OwnCheckpoints(target, partition, filesystem)
            checkpoints.write(
                recovery_point=moment.log_end_offset,
                high_watermark=moment.high_watermark,
                log_start_offset=moment.log_start_offset,
                cleaner_offset=moment.cleaner_offset,
            )
            checkpoints.mark_closed()
        BackupMark(str(self._directory), told_of(target)).write(target, filesystem)
        filesystem.fsync_directory(target)
