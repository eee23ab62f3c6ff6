"""A log that nobody writes, of which no damaged batch is given to anybody."""

from logstore.batch.batch_order import BatchOrder
from logstore.batch.batches import read_batch
from logstore.errors import CorruptBatchError, LogStoreError
from logstore.log.frozen.frozen_log import FrozenLog
from logstore.log.isolation import Isolation
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment
from logstore.offline.recovered_log import RecoveredLog
from logstore.segment.many_batches import sound_batches
from logstore.segment.read_view import ReadView


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
        sound = view.position + _sound_bytes(view)
        if sound == view.position:
            raise self._damaged(view)
        start = known.start if view.position in known or view.position == known.stop else view.position
        self._sound[view.segment_base_offset] = range(start, sound)
        if sound < end:
            view.data = view.data[: sound - view.position]
        return view

    def _damaged(self, view: ReadView) -> CorruptBatchError:
        return CorruptBatchError(
            "the batch is damaged: its checksum does not match, or it does not follow the one before it",
            file=next(each.file.path for each in self.segments if each.base_offset == view.segment_base_offset),
            position=view.position,
            offset=view.offset,
            advice="take the partition from another replica: `epochlog repair` does",
        )


def _sound_bytes(view: ReadView) -> int:
    """Count the bytes of the batches before the first that is damaged, or does not fit between those around it."""
    order, end = BatchOrder(), 0
    try:
        while end < len(view.data):
            columns = sound_batches(view.data, end, len(view.data), order, view.surroundings)
            if len(columns):
                first, following = int(columns.base_offset[0]), columns.next_position
            else:
                # The kernel ends at damage, and at formats of before Kafka 0.11.
                batch = read_batch(view.data, end)
                batch.ensure_valid()
                order.take(batch, view.surroundings)
                first, following = batch.base_offset, end + batch.size
            if not end:
                view.ensure_begin(first)
            end = following
    except LogStoreError:
        pass  # read again from there, it is refused
    return end
