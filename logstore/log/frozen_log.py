"""A log that nobody writes, such as a dead broker's, read as `Log` is and without a write."""

import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from logstore.batch.batch_order import ADVICE
from logstore.clock import now_ms
from logstore.errors import CorruptBatchError, LogStoreError, ReadOnlyError
from logstore.file_name import FileKind, file_name
from logstore.files.own_checkpoints import OwnCheckpoints
from logstore.log.cursors.cursor import Cursor
from logstore.log.flusher import Flusher
from logstore.log.readable_log import ReadableLog
from logstore.log.reading.isolation import Isolation
from logstore.log.reading.sound_ranges import SoundRanges
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment
from logstore.log.state.log_guard import LogGuard
from logstore.log.state.undo import Undo
from logstore.log_config import LogConfig
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from logstore.recovery.frozen_loader import ReadOnlyFiles, flushed_offset, load_frozen
from logstore.segment.open_files import OpenFiles
from logstore.segment.read_view import ReadView

_ADVICE = "open it with `Log.open` to write it"


class FrozenLog(ReadableLog):
    """What a broker would serve of a directory once it had opened and, where needed, recovered it.

    It takes no lock, and changes no file and no time stamp: what recovery would do is done in memory. The high
    watermark is the log's end, as on a broker that leads alone. Where records are gone or damaged that were on stable
    storage, reading comes to an error, and not to an end. Nobody may write the directory meanwhile; what somebody
    does write is read with `Log.reader`.

    >>> with FrozenLog.open("/backup/broker-1/orders-0") as log:
    ...     view = log.read(log.log_start_offset, 1 << 20, isolation=Isolation.READ_COMMITTED)
    """

    def __init__(self, environment: LogEnvironment, contents: LogContents, recovered: RecoveredLog) -> None:
        """Read what was loaded; see `open` and `of`."""
        self.recovered: RecoveredLog = recovered
        """What recovery keeps, and its damage."""
        undo = Undo(environment, contents)
        guard = LogGuard(environment, contents, undo, _ADVICE)
        own: OwnCheckpoints | None = None
        super().__init__(environment, contents, guard, Flusher(environment, contents, guard, own))
        self._reader.end_fault = _end_fault(recovered, contents)

    @classmethod
    def open(cls, directory: str | os.PathLike[str], config: LogConfig | None = None) -> Self:
        """Open a partition directory; `config` matters for the size and interval of indexes that are made anew.

        Raises NotALogDirectoryError and what `of` raises.
        """
        return cls.of(RecoveredLog.load(PartitionDirectory.open(Path(directory).absolute())), config)

    @classmethod
    def of(
        cls,
        recovered: RecoveredLog,
        config: LogConfig | None = None,
        *,
        clock: Callable[[], int] = now_ms,
        open_files: OpenFiles | None = None,
    ) -> Self:
        """Open what `RecoveredLog.load` found, such as a partition of an `OfflineLogDirectory`.

        `open_files` bounds the descriptors and mappings of several logs. Raises epoch.EpochError, LogStoreError and
        OSError.
        """
        config = config or LogConfig()
        loaded = load_frozen(recovered, config, now_ms=clock(), open_files=open_files)
        directory = recovered.partition.path
        environment = LogEnvironment(directory, config, ReadOnlyFiles(), clock, None, open_files)
        contents = LogContents(loaded)
        contents.move_high_watermark(loaded.log_end_offset)
        return cls(environment, contents, recovered)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def lead(self, leader_epoch: int) -> None:
        """Note, in memory alone, that `leader_epoch` leads from the log's end on, as a broker does that begins to lead.

        Raises InvalidEpochEntryError for a number that is no epoch.
        """
        self._contents.epochs.assign(leader_epoch, self.log_end_offset)

    def close(self) -> None:
        """Close its files; what was read stays valid."""
        with self._guard.lock:
            self._guard.close()
            for segment in self._contents.segments.segments:
                segment.abandon()
            self._contents.wake()

    def cursor(self, name: str) -> Cursor:
        """Refuse: a cursor is kept in the log's directory. Raises ReadOnlyError."""
        del name
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ReadOnlyError("the log was opened to be read only", file=self.directory, advice=_ADVICE)


def _end_fault(recovered: RecoveredLog, contents: LogContents) -> LogStoreError | None:
    """Return what is wrong where the log ends, unless a crash may have left it so."""
    checkpoints = recovered.partition.checkpoints
    promised = flushed_offset(recovered)
    end, base_offset, size = contents.end
    if end >= promised or not (checkpoints.clean_shutdown or recovered.damage):
        return None
    return recovered.damage or CorruptBatchError(
        f"the log ends, although it was on stable storage up to {promised:,}",
        file=recovered.partition.path / file_name(FileKind.LOG, base_offset),
        position=size,
        offset=end,
        advice=ADVICE,
    )


class CheckedLog(FrozenLog):
    """A `FrozenLog` that checks checksums as bytes are read: `read` gives what precedes a batch that is damaged.

    Many clients do not check them, and recovery after a clean stop does not either. What was just read is not checked
    again.
    """

    def __init__(self, environment: LogEnvironment, contents: LogContents, recovered: RecoveredLog) -> None:
        """Read what was loaded; see `open` and `of`."""
        super().__init__(environment, contents, recovered)
        self._sound = SoundRanges(contents)

    def read(
        self, offset: int, max_bytes: int, *, isolation: Isolation = Isolation.LOG_END, min_one_batch: bool = True
    ) -> ReadView:
        """Read as `Log.read` does. Raises also CorruptBatchError where the batch at `offset` is damaged."""
        return self._sound.checked(super().read(offset, max_bytes, isolation=isolation, min_one_batch=min_one_batch))
