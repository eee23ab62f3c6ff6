"""The pass over one segment's bytes that recovery makes: what is valid, and what its indexes hold."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.awaited_kernel import AwaitedKernel
from logstore.batch.any_batch import Batch
from logstore.batch.batch import RecordBatch
from logstore.batch.batches import read_batch, read_batches
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

_IN_DOUBT: Final = 2
"""So many of the last batches may be misplaced."""
STEP_BYTES: Final = 16 << 20
"""How much is checked between two reports of progress."""

MISPLACED: Final = "a batch's offsets do not follow those before it"
REASONS: Final[dict[int, str]] = {
    StopReason.TORN: "the file ends inside a batch",
    StopReason.BAD_LENGTH: "the length field of a batch is invalid",
    StopReason.BAD_MAGIC: "the magic byte is not 0, 1 or 2",
    StopReason.BAD_HEADER: "a batch's header is invalid",
    StopReason.BAD_CRC: "a batch's checksum does not match",
    StopReason.OUT_OF_RANGE: "a batch's offsets do not fit the segment",
    StopReason.OUT_OF_ORDER: MISPLACED,
}
"""Why a pass stopped before the end, by stop reason."""

OnProducerBatch = Callable[[RecordBatch], list[AbortedTransaction]]
"""Given each batch with a producer id; answers the transactions that it aborts (`ProducerState.replay`)."""
Lacks = Callable[[int], bool]
"""Whether a segment that ends at this offset ended later."""
OnBytes = Callable[[int], object]
"""Called with how many more bytes are done."""


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
    in_doubt: int = 0
    """Where the last batch begins that is not believed: behind `valid_bytes` where one of two is wrong."""
    parts: tuple[Part, ...] = ()
    """Where the segment is to be split first, as its offsets are too far apart; then nothing was changed."""

    @property
    def dropped_bytes(self) -> int:
        """What is torn or damaged at the end, and what follows it."""
        return self.size - self.valid_bytes


class Misplaced(NamedTuple):
    """Batches of which one has a wrong base offset; what lies behind them may be sound."""

    position: int
    """Where the first begins."""
    last: int
    """Where the last begins: the same, or the next one, if either of two may be wrong."""


class SegmentWalk:
    """By the kernel, and by plain Python for messages of magic 0 and 1."""

    def __init__(
        self,
        log: LogFile,
        base_offset: int,
        config: LogConfig,
        on_producer_batch: OnProducerBatch,
        position: int = 0,
        *,
        is_ordered: bool = False,
    ) -> None:
        self.indexes: RebuiltIndexes = RebuiltIndexes(base_offset, config.segment_index_bytes)
        self.aborted: list[AbortedTransaction] = []
        self._log = log
        self.base_offset = base_offset
        self._config = config
        self._interval = config.index_interval_bytes
        self._on_producer_batch = on_producer_batch
        self._epochs: list[tuple[int, int]] = []
        self._not_replayed: deque[int] = deque()
        """Where the last batches with a producer id begin, as long as these may turn out to be misplaced."""
        self._state = new_state(base_offset, position=position, is_ordered=is_ordered)
        self._columns = RecoveryColumns()

    def to(self, last: int, progress: OnBytes) -> int:
        """Go on step by step up to `last`, where the file or a batch ends; return the reason to stop."""
        done, stop = 0, int(StopReason.END)
        while done < last and stop in {StopReason.END, StopReason.TORN}:
            end = min(last, done + STEP_BYTES)
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

    def misplaced(self, promised: int | None, stop: int, skips: Callable[[], bool], lacks: Lacks) -> Misplaced | None:
        """Return which batch, or which two, have a wrong base offset.

        No checksum covers base offsets, but batches follow one another, and none lies around the offset up to where all
        was `promised`, if that is known: there a flush has ended. `stop` is why the pass stopped, and `skips` says
        whether the batches of the segment may lack offsets between them: then the last one may also be what lies too
        early, where the segment `lacks` offsets behind it. None where all fit.
        """
        last = self._last_batches(stop)
        if not last or any(batch.magic < MAGIC for batch in last):
            return None
        batch, ends = last[-1], [self.base_offset, *(batch.last_offset + 1 for batch in last)]
        end = ends[-2]
        if batch.base_offset >= end:
            may_be_early = self.position == self._log.size and lacks(batch.last_offset + 1) and skips()
            is_right = _fits(batch, end, promised) and not may_be_early
            return None if is_right else Misplaced(batch.position, batch.position)
        if len(last) > 1:  # of two that contradict each other the one before is wrong, where the last fits without it
            before, its_start = last[-2], ends[-3]
            its_end = its_start + before.last_offset + 1 - before.base_offset
            if batch.base_offset >= its_end and _fits(batch, its_end, promised):
                may_be_right = _fits(before, its_start, promised) and not self._is_beyond_next(end, batch) and skips()
                return Misplaced(before.position, batch.position if may_be_right else before.position)
        return Misplaced(batch.position, batch.position)

    def _is_beyond_next(self, end: int, batch: Batch) -> bool:
        """Whether the batch behind this one begins before that offset, too."""
        try:
            following = next(self._log.batches(batch.position + batch.size), None)
        except LogStoreError:
            return False
        return following is not None and following.base_offset < end

    def _last_batches(self, stop: int) -> list[Batch]:
        """Return up to three, the last of them the one that does not follow, if the pass stopped there."""
        last = deque(read_batches(self._log.data[: self.position], self.indexes.third_last), maxlen=3)
        if stop == StopReason.OUT_OF_ORDER:
            last.append(read_batch(self._log.data, self.position))
        return list(last)

    def without(self, position: int) -> "SegmentWalk":
        """Return what was found before the batch at `position`, one of those in doubt."""
        walk = SegmentWalk(self._log, self.base_offset, self._config, lambda _: [], is_ordered=True)
        walk.go_to(position)
        walk.aborted = self.aborted
        walk._on_producer_batch = self._on_producer_batch
        walk._not_replayed = deque(each for each in self._not_replayed if each < position)
        return walk

    def replay_all(self) -> None:
        """Replay what was in doubt: it is valid."""
        while self._not_replayed:
            self._replay(self._not_replayed.popleft())

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
        self._not_replayed += columns.producer_position[: state[Slot.PRODUCER_ROWS]].tolist()
        while len(self._not_replayed) > _IN_DOUBT:
            self._replay(self._not_replayed.popleft())

    def _replay(self, position: int) -> None:
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


def _fits(batch: Batch, end: int, promised: int | None) -> bool:
    """Whether a batch, behind one that ends at `end`, lies on one side of where a flush has ended."""
    return promised is None or not (
        end < promised <= batch.base_offset or batch.base_offset < promised < batch.last_offset + 1
    )


def _load_recover() -> Any:
    from logstore.kernels.recover import recover  # noqa: PLC0415  numba loads on the first bulk operation

    def recover_view(data: memoryview, end: int, **rest: Any) -> int:
        return recover(np.frombuffer(data, np.uint8), end, **rest)

    recover_view(memoryview(b""), 0, base_offset=0, interval=0, state=new_state(0), columns=RecoveryColumns())
    return recover_view


RECOVER: Final = AwaitedKernel(_load_recover, patience=3)
"""Asked for once so many steps are done: some tens of megabytes, or segments."""
