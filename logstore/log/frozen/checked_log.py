"""A log that nobody writes, of which no damaged batch is given to anybody."""

from typing import Final

from logstore.batch.batches import read_batch
from logstore.errors import CorruptBatchError
from logstore.log.frozen.frozen_log import FrozenLog
from logstore.log.isolation import Isolation
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment
from logstore.offline.recovered_log import RecoveredLog
from logstore.segment.many_batches import sound_batches
from logstore.segment.read_view import ReadView

_OFFSET_BYTES: Final = 8


class CheckedLog(FrozenLog):
    """A `FrozenLog` that checks checksums as bytes are read: `read` gives what precedes a batch that is damaged.

    Many clients do not check them, and recovery after a clean stop does not either. What was just read is not checked
    again.
    """

    def __init__(self, environment: LogEnvironment, contents: LogContents, recovered: RecoveredLog) -> None:
        """Read what was loaded; see `open` and `of`."""
        super().__init__(environment, contents, recovered)
        self._sound: dict[int, range] = {}
        """The bytes of segments, by base offset, whose batches are known to be sound."""

    def read(
        self, offset: int, max_bytes: int, *, isolation: Isolation = Isolation.LOG_END, min_one_batch: bool = True
    ) -> ReadView:
        """Read as `Log.read` does. Raises also CorruptBatchError where the batch at `offset` is damaged."""
        view = super().read(offset, max_bytes, isolation=isolation, min_one_batch=min_one_batch)
        known = self._sound.get(view.segment_base_offset, range(0))
        end = view.position + len(view)
        if not len(view) or (view.position in known and end <= known.stop):
            return view
        sound = view.position + _sound_bytes(view.data, self._next_base_offset(view, end))
        if sound == view.position:
            raise self._damaged(view)
        start = known.start if view.position in known or view.position == known.stop else view.position
        self._sound[view.segment_base_offset] = range(start, sound)
        if sound < end:
            view.data = view.data[: sound - view.position]
        return view

    def _next_base_offset(self, view: ReadView, end: int) -> int:
        """Return where what follows a view begins: no checksum covers offsets, but none reaches beyond that."""
        later = [each for each in self.segments if each.base_offset >= view.segment_base_offset]
        if end + _OFFSET_BYTES <= later[0].file.size:
            return int.from_bytes(later[0].file.data()[end : end + _OFFSET_BYTES], signed=True)
        return later[1].base_offset if len(later) > 1 else self.log_end_offset

    def _damaged(self, view: ReadView) -> CorruptBatchError:
        return CorruptBatchError(
            "the batch is damaged: its checksum does not match, or it does not follow the one before it",
            file=next(each.file.path for each in self.segments if each.base_offset == view.segment_base_offset),
            position=view.position,
            offset=view.offset,
            advice="take the partition from another replica: `epochlog repair` does",
        )


def _sound_bytes(data: memoryview, next_base_offset: int) -> int:
    """Count the bytes of the batches before the first that is damaged, or reaches beyond the one that follows it."""
    ends: list[tuple[int, int]] = []
    position, last_offset = 0, -1
    while position < len(data):
        columns = sound_batches(data, position, len(data), last_offset)
        if len(columns):
            ends += zip((columns.position + columns.size).tolist(), columns.last_offset.tolist(), strict=True)
        else:
            # The kernel ends at damage, and at formats of before Kafka 0.11.
            batch = read_batch(data, position)
            if not batch.is_valid() or batch.base_offset <= last_offset:
                next_base_offset = batch.base_offset
                break
            ends.append((batch.position + batch.size, batch.last_offset))
        position, last_offset = ends[-1]
    if ends and ends[-1][1] >= next_base_offset:
        ends.pop()
    return ends[-1][0] if ends else 0
