"""Recover one segment: find what is valid, cut off the rest, build the indexes anew (Kafka: LogSegment.recover)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from epoch.filesystem import REAL, FileSystem
from epoch.kept_code.awaited_kernel import AwaitedKernel
from logstore.batch.batch import RecordBatch
from logstore.batch.columns import StopReason
from logstore.batch.legacy_batch import LegacyBatch
from logstore.errors import LogStoreError, SegmentTooLargeError
from logstore.file_name import FileFate, FileKind, file_name
from logstore.files.index_slots import MAX_RELATIVE_OFFSET
from logstore.files.mapped_files import cut_file
from logstore.indexes.rebuilt_indexes import RebuiltIndexes
from logstore.indexes.transaction_index import AbortedTransaction, TransactionIndex
from logstore.kernels.recovery_state import RecoveryColumns, Slot, new_state
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.recovery.plain_recovery import recover_plainly
from logstore.recovery.segment_split import Part, plan_split

MAX_SEGMENT_BYTES: Final = 2**31 - 1
"""Index entries hold positions in 32 bits."""
STEP_BYTES: Final = 16 << 20
"""How much is checked between two reports of progress."""

REASONS: Final[dict[int, str]] = {
    StopReason.TORN: "the file ends inside a batch",
    StopReason.BAD_LENGTH: "the length field of a batch is invalid",
    StopReason.BAD_MAGIC: "the magic byte is not 0, 1 or 2",
    StopReason.BAD_HEADER: "a batch's header is invalid",
    StopReason.BAD_CRC: "a batch's checksum does not match",
    StopReason.OUT_OF_RANGE: "a batch's offsets do not fit the segment",
}
"""Why a pass stopped before the end, by stop reason."""

OnProducerBatch = Callable[[RecordBatch], list[AbortedTransaction]]
"""Given each batch with a producer id; answers the transactions that it aborts (`ProducerState.replay`)."""
OnBytes = Callable[[int], object]
"""Told how many more bytes are done."""


@dataclass(frozen=True, slots=True)
class SegmentRecovery:
    """What one segment's pass found."""

    base_offset: int
    size: int
    """Bytes of the `.log` file before."""
    valid_bytes: int
    """Bytes of it that are valid, from its beginning."""
    next_offset: int
    """One beyond the last valid batch's last offset; the base offset without any batch."""
    batches: int
    epochs: tuple[tuple[int, int], ...]
    """Leader epochs and offsets: of the first record and the last, and wherever the epoch changes in between."""
    reason: str
    """Why the pass stopped at `valid_bytes`; empty where that is the end."""
    parts: tuple[Part, ...] = ()
    """Where the segment is to be split first, as its offsets are too far apart; then nothing was changed."""

    @property
    def dropped_bytes(self) -> int:
        """What is torn or damaged at the end, and what follows it."""
        return self.size - self.valid_bytes


def recover_segment(
    directory: Path,
    base_offset: int,
    config: LogConfig,
    *,
    on_producer_batch: OnProducerBatch,
    on_damage: Callable[[], object] = lambda: None,
    progress: OnBytes = lambda _: None,
    filesystem: FileSystem = REAL,
) -> SegmentRecovery:
    """Check a segment's batches up to the end or the first that is not whole, cut the file there, and write indexes.

    `on_damage` is called before anything is cut: what must go with the damage goes first, as long as the damage is
    there to tell so after another crash. A segment that must be split is left as it is. Raises OSError, and
    SegmentTooLargeError.
    """
    path = directory / file_name(FileKind.LOG, base_offset)
    with LogFile.open(path) as log:
        if log.size > MAX_SEGMENT_BYTES:
            raise SegmentTooLargeError(
                f"{log.size:,} bytes are more than the {MAX_SEGMENT_BYTES:,} that indexes can point into",
                file=path,
                advice="Kafka refuses it too; take the partition from another replica",
            )
        walk = _Walk(log, base_offset, config, on_producer_batch)
        reason = walk.to_the_end(progress)
        found = walk.found(reason)
        if reason == StopReason.OUT_OF_RANGE:
            parts = plan_split(log, base_offset)
            if parts:
                return replace(found, parts=parts)
    if found.dropped_bytes:
        on_damage()
        cut_file(filesystem, path, found.valid_bytes)
    _replace_indexes(directory, walk, filesystem)
    return found


def check_part(log: LogFile, base_offset: int, start: int, end: int) -> int:
    """Check what recovery would, from where a batch begins to `end`; return how many bytes are valid. For estimates."""
    walk = _Walk(log, base_offset, LogConfig(), lambda _: [], start)
    walk.go_to(min(end, log.size))
    return walk.position - start


class _Walk:
    """The pass over one segment's bytes: the kernel, and plain Python for messages of magic 0 and 1."""

    def __init__(
        self,
        log: LogFile,
        base_offset: int,
        config: LogConfig,
        on_producer_batch: OnProducerBatch,
        position: int = 0,
    ) -> None:
        self.indexes = RebuiltIndexes(base_offset, config.segment_index_bytes)
        self.aborted: list[AbortedTransaction] = []
        self._log = log
        self.base_offset = base_offset
        self._interval = config.index_interval_bytes
        self._on_producer_batch = on_producer_batch
        self._epochs: list[tuple[int, int]] = []
        self._state = new_state(base_offset, position=position)
        self._columns = RecoveryColumns()

    def to_the_end(self, progress: OnBytes) -> int:
        """Go on step by step; return the reason to stop."""
        done, stop = 0, int(StopReason.END)
        while done < self._log.size and stop in {StopReason.END, StopReason.TORN}:
            end = min(self._log.size, done + STEP_BYTES)
            stop = self.go_to(end)
            progress(end - done)
            done = end
        return stop

    @property
    def position(self) -> int:
        """The end of what is valid."""
        return int(self._state[Slot.POSITION])

    def found(self, stop: int) -> SegmentRecovery:
        """Sum up."""
        state = self._state
        last = [(int(state[Slot.EPOCH]), int(state[Slot.LAST_OFFSET]))] if self._epochs else []
        return SegmentRecovery(
            base_offset=self.base_offset,
            size=self._log.size,
            valid_bytes=self.position,
            next_offset=int(state[Slot.LAST_OFFSET]) + 1,
            batches=int(state[Slot.BATCHES]),
            epochs=(*self._epochs, *last),
            reason=REASONS.get(stop, ""),
        )

    def time_index(self) -> bytes:
        """Return the `.timeindex` file's bytes."""
        return self.indexes.time_index(
            int(self._state[Slot.MAX_TIMESTAMP]), int(self._state[Slot.MAX_TIMESTAMP_OFFSET])
        )

    def go_to(self, end: int) -> int:
        """Check what ends before `end`; return the reason to stop there."""
        stop = int(StopReason.MORE)
        while stop in {StopReason.MORE, StopReason.LEGACY}:
            recover = RECOVER.ready() or recover_plainly
            stop = recover(
                self._log.data,
                end,
                base_offset=self.base_offset,
                interval=self._interval,
                state=self._state,
                columns=self._columns,
            )
            self._take(self._columns, self._state)
            if stop == StopReason.LEGACY:
                stop = self._message(end)
        return stop

    def _take(self, columns: RecoveryColumns, state: NDArray[np.int64]) -> None:
        """Keep the rows that one call of the kernel has filled."""
        self.indexes.add(columns, int(state[Slot.INDEX_ROWS]))
        rows = state[Slot.EPOCH_ROWS]
        self._epochs += zip(columns.epoch[:rows].tolist(), columns.epoch_offset[:rows].tolist(), strict=True)
        for position in columns.producer_position[: state[Slot.PRODUCER_ROWS]].tolist():
            self.aborted += self._on_producer_batch(RecordBatch(self._log.data, position, str(self._log.path)))

    def _message(self, end: int) -> int:
        """Check the one message of magic 0 or 1 that follows; MORE when it is whole."""
        state = self._state
        position = int(state[Slot.POSITION])
        try:
            message = LegacyBatch(self._log.data[:end], position, str(self._log.path))
        except LogStoreError:
            return StopReason.BAD_HEADER
        if not message.is_valid():
            return StopReason.BAD_CRC
        if not 0 <= message.last_offset - self.base_offset <= MAX_RELATIVE_OFFSET:
            return StopReason.OUT_OF_RANGE
        if message.max_timestamp > state[Slot.MAX_TIMESTAMP]:
            state[Slot.MAX_TIMESTAMP], state[Slot.MAX_TIMESTAMP_OFFSET] = message.max_timestamp, message.last_offset
        if position - state[Slot.INDEXED] > self._interval:
            timestamp, its_offset = int(state[Slot.MAX_TIMESTAMP]), int(state[Slot.MAX_TIMESTAMP_OFFSET])
            self.indexes.add_entry(message.last_offset, position, timestamp, its_offset)
            state[Slot.INDEXED] = position
        state[Slot.LAST_OFFSET] = message.last_offset
        state[Slot.BATCHES] += 1
        state[Slot.POSITION] = position + message.size
        return StopReason.MORE


def _load_recover() -> Any:
    from logstore.kernels.recover import recover  # noqa: PLC0415  numba loads on the first bulk operation

    def recover_view(data: memoryview, end: int, **rest: Any) -> int:
        return recover(np.frombuffer(data, np.uint8), end, **rest)

    recover_view(memoryview(b""), 0, base_offset=0, interval=0, state=new_state(0), columns=RecoveryColumns())
    return recover_view


RECOVER: Final = AwaitedKernel(_load_recover, patience=3)
"""Asked for once so many steps are done: some tens of megabytes, or segments."""


def _replace_indexes(directory: Path, walk: _Walk, filesystem: FileSystem) -> None:
    """Put new index files in place, down to the disk: below the recovery point nobody looks again.

    The offset index is last. Where it was what was missing, another crash before that leaves it missing.
    """
    made = {FileKind.TIME_INDEX: walk.time_index(), FileKind.OFFSET_INDEX: walk.indexes.offset_index()}
    if walk.aborted or (directory / file_name(FileKind.TRANSACTION_INDEX, walk.base_offset)).exists():
        made = {FileKind.TRANSACTION_INDEX: TransactionIndex(tuple(walk.aborted), 0).encode(), **made}
    for kind, data in made.items():
        # A start removes left-over files with that suffix; Kafka's does too.
        temporary = directory / file_name(kind, walk.base_offset, FileFate.CLEANED)
        filesystem.replace(directory / file_name(kind, walk.base_offset), data, temporary)
    filesystem.fsync_directory(directory)
