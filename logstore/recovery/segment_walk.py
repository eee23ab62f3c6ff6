"""The pass over one segment's bytes that recovery makes: what is valid, and what its indexes hold."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from epoch.kept_code.awaited_kernel import AwaitedKernel
from logstore.batch.batch import RecordBatch
from logstore.batch.batches import read_batches
from logstore.batch.columns import StopReason
from logstore.batch.layout import MAGIC
from logstore.batch.legacy_batch import LegacyBatch
from logstore.errors import LogStoreError
from logstore.files.index_slots import MAX_RELATIVE_OFFSET
from logstore.indexes.rebuilt_indexes import RebuiltIndexes
from logstore.indexes.transaction_index import AbortedTransaction
from logstore.kernels.recovery_state import RecoveryColumns, Slot, new_state
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.recovery.plain_recovery import recover_plainly
from logstore.recovery.segment_split import Part

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


class SegmentWalk:
    """By the kernel, and by plain Python for messages of magic 0 and 1."""

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
        self._config = config
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

    def misplaced_last(self, promised: int) -> tuple[int, int] | None:
        """Return where the last batch begins, and where the one before it ends, if the last's base offset is wrong.

        No checksum covers that, but it follows the batch before, and no batch lies around the offset up to where all
        was `promised`: there a flush has ended. None where it fits.
        """
        first, position, end, before = self._log.data[: self.position], -1, self.base_offset, self.base_offset
        for batch in read_batches(first, self.indexes.last_but_one):
            if batch.magic < MAGIC:
                return None
            position, before, end = batch.position, end, batch.last_offset + 1
        base_offset = int(self._state[Slot.BASE_OFFSET])
        fits = before <= base_offset and not (before < promised <= base_offset or base_offset < promised < end)
        return None if position < 0 or fits else (position, before)

    def without(self, position: int) -> "SegmentWalk":
        """Return what was found before the batch at `position`."""
        walk = SegmentWalk(self._log, self.base_offset, self._config, lambda _: [])
        walk.go_to(position)
        walk.aborted = [each for each in self.aborted if each.last_offset < int(walk._state[Slot.LAST_OFFSET]) + 1]
        return walk

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
