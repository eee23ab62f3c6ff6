"""Load a log as a broker would, and write nothing: what recovery changes in files is changed in memory alone."""

import errno
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from epoch.cache import LeaderEpochFileCache
from epoch.filesystem import FileSystem
from logstore.base_offsets import first_unflushed
from logstore.errors import CorruptMetadataError
from logstore.files.only_copy.offset_gaps import OffsetGaps
from logstore.files.only_copy.promised_offsets import PromisedOffsets
from logstore.indexes.index_sanity import sane_position
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.offline.recovered_log import RecoveredLog
from logstore.offline.segment import Segment
from logstore.producers.producer_replay import rebuild_producers
from logstore.producers.producer_state import ProducerState
from logstore.producers.unwritten_files import UnwrittenFiles
from logstore.recovery.loaded_log import LoadedLog
from logstore.recovery.recovery_report import RecoveryReport
from logstore.recovery.segment_walk import SegmentWalk
from logstore.segment.live_segment import LiveSegment
from logstore.segment.open_files import OpenFiles
from logstore.segment.segment_list import SegmentList


class ReadOnlyFiles(FileSystem):
    """Refuses to write: nothing that only reads a log comes here."""

    def open(self, path: Path, *, truncate: bool = False) -> int:
        """Refuse."""
        del truncate
        self._refuse(path)

    def overwrite(self, path: Path, position: int, data: bytes, *, sync: bool = False) -> None:
        """Refuse."""
        del position, data, sync
        self._refuse(path)

    def truncate(self, path: Path, size: int) -> None:
        """Refuse."""
        del size
        self._refuse(path)

    def unlink(self, path: Path) -> None:
        """Refuse."""
        self._refuse(path)

    def rename(self, source: Path, target: Path) -> None:
        """Refuse."""
        del target
        self._refuse(source)

    def _refuse(self, path: Path) -> NoReturn:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))


def load_frozen(
    recovered: RecoveredLog, config: LogConfig, *, now_ms: int, open_files: OpenFiles | None = None
) -> LoadedLog:
    """Load what recovery would keep. Raises CorruptIndexError, what `ProducerState.replay` raises, and OSError."""
    loader = _FrozenLoader(recovered, config, now_ms, open_files)
    try:
        return loader.load()
    except BaseException:
        for segment in loader.segments:
            segment.abandon()
        raise


def flushed_offset(recovered: RecoveredLog) -> int:
    """Return up to where a log was on stable storage, by its checkpoint or, where none has a copy, by its own word."""
    promise = PromisedOffsets(recovered.partition.path).read()
    return (recovered.partition.checkpoints.recovery_point or 0) if promise is None else promise.recovery_point


class _FrozenLoader:
    def __init__(self, recovered: RecoveredLog, config: LogConfig, now_ms: int, open_files: OpenFiles | None) -> None:
        self._recovered = recovered
        self._directory = recovered.partition.path
        self._config = config
        self._now_ms = now_ms
        self._open_files = open_files
        self.segments: list[LiveSegment] = []
        self._recovered_producers: ProducerState | None = None
        """As the unflushed segments leave them; None where there is none."""

    def load(self) -> LoadedLog:
        """Load the segments, with indexes rebuilt where recovery would, and replay the producers' states."""
        recovered, checkpoints = self._recovered, self._recovered.partition.checkpoints
        start, end = recovered.log_start_offset, recovered.log_end_offset
        if checkpoints.clean_shutdown and checkpoints.recovery_point is not None:
            # All was flushed then: what claims to lie beyond that is damaged.
            end = max(min(end, checkpoints.recovery_point), start)
        base_offsets = [segment.base_offset for segment in recovered.segments]
        unflushed = first_unflushed(base_offsets, flushed_offset(recovered), clean_shutdown=checkpoints.clean_shutdown)
        for number, segment in enumerate(recovered.segments):
            self._take(segment, is_unflushed=number >= unflushed)
        if not self.segments:
            self.segments.append(self._segment(start, 0))
        recovery_point = end if checkpoints.clean_shutdown else min(checkpoints.recovery_point or 0, end)
        producers = self._recovered_producers or self._producers_at(self.segments, end)
        producers.end_offset = end
        epochs = LeaderEpochFileCache(recovered.history)
        report = RecoveryReport()
        gaps = self._gaps(report).within(start, end)
        return LoadedLog(self.segments, start, end, recovery_point, epochs, producers, report, gaps)

    def _gaps(self, report: RecoveryReport) -> OffsetGaps:
        """Return what the log is known to lack; what cannot be read is logged, and in the report."""
        try:
            return OffsetGaps.read(self._directory)
        except CorruptMetadataError as error:
            report.damaged_offset_gaps = str(error)
            logging.getLogger("logstore").warning("%s: holes are not known: %s", self._directory, error)
            return OffsetGaps()

    def _take(self, segment: Segment, *, is_unflushed: bool) -> None:
        recovered, base_offset = self._recovered, segment.base_offset
        is_last = segment is recovered.segments[-1]
        size = recovered.valid_bytes if is_last else segment.size
        live = self._segment(base_offset, size)
        if is_unflushed or size < segment.size:
            producers = self._recovered_producers or self._producers_at(self.segments, base_offset)
            self._rebuild_indexes(live, size, producers)
            self._recovered_producers = producers
        elif sane_position(self._directory, base_offset) is None:
            self._rebuild_indexes(live, size, self._producers_at(self.segments, base_offset))
        self.segments.append(live)

    def _rebuild_indexes(self, live: LiveSegment, size: int, producers: ProducerState) -> None:
        with LogFile.open(live.path) as log:
            walk = SegmentWalk(LogFile(log.data[:size], live.path), live.base_offset, self._config, producers.replay)
            walk.to(size, lambda _: None)
            walk.replay_all()
        live.indexes.take(walk.indexes.offset_index(), walk.time_index(), tuple(walk.aborted))

    def _segment(self, base_offset: int, size: int) -> LiveSegment:
        return LiveSegment(
            self._directory,
            base_offset,
            self._config,
            ReadOnlyFiles(),
            size=size,
            created_ms=self._now_ms,
            open_files=self._open_files,
        )

    def _producers_at(self, segments: Sequence[LiveSegment], offset: int) -> ProducerState:
        """Bring the producers' state up to `offset`, from the latest snapshot and the segments after it."""
        expiration_ms = self._config.producer_id_expiration_ms
        producers = ProducerState(self._directory, filesystem=UnwrittenFiles(), expiration_ms=expiration_ms)
        checkpoints = self._recovered.partition.checkpoints
        if segments and not (checkpoints.clean_shutdown and producers.latest_snapshot_offset is None):
            rebuild_producers(
                producers,
                SegmentList(segments),
                log_start_offset=self._recovered.log_start_offset,
                log_end_offset=offset,
                now_ms=self._now_ms,
            )
        producers.end_offset = offset
        return producers
