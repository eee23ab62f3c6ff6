"""How many bytes of a log are sound from a place on."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from epoch.compiling.awaited_kernel import AwaitedKernel
from logstore.batch.any_batch import Batch
from logstore.batch.batch_order import BatchOrder, Surroundings
from logstore.batch.batches import read_batch
from logstore.errors import LogStoreError
from logstore.segment.read_view import ReadView

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NO_BYTES: Final = memoryview(b"")


class _Kernel:
    """Checks batches that follow one another, many in one call."""

    def __init__(self) -> None:
        import numpy as np  # noqa: PLC0415  it loads on first bulk use

        from logstore.kernels.data import read_only  # noqa: PLC0415  as above
        from logstore.kernels.standalone import sound_run  # noqa: PLC0415  as above

        self._run = sound_run
        self._from_buffer, self._byte, self._read_only = np.frombuffer, np.uint8, read_only
        self._run(self.array(_NO_BYTES), 0, 0, -1, -1, 0)

    def array(self, data: memoryview) -> "NDArray[np.uint8]":
        array = self._from_buffer(data, self._byte)
        return self._read_only(array) if array.flags.writeable else array

    def end_of_run(self, array: "NDArray[np.uint8]", limit: int, batch: Batch, end_offset: int) -> tuple[int, int]:
        """Return where the sound batches end that go on from `batch`, itself included, and the last offset."""
        end, last = self._run(array, batch.position, limit, batch.base_offset - 1, batch.leader_epoch, end_offset)
        return end, last


SOUND_RUNS: Final = AwaitedKernel(_Kernel, patience=1)


class SoundBytes(NamedTuple):
    """What was found."""

    size: int
    """Of the batches before the first that is damaged, or does not fit between those around it."""
    fault: LogStoreError | None = None
    """What is wrong with that one; None where none was met."""

    @classmethod
    def of(cls, view: ReadView, ahead: int) -> "SoundBytes":
        """Check what was read, and what follows it in the segment, up to the batch that reaches `ahead` bytes."""
        kernel = SOUND_RUNS.ready()
        onward = view.surroundings.onward() if kernel is not None and ahead > len(view.data) else None
        data, around = (view.data, view.surroundings) if onward is None else onward
        return cls._of(view, data, around, min(len(data), max(ahead, len(view.data))), kernel)

    @classmethod
    def _of(cls, view: ReadView, data: memoryview, around: Surroundings, limit: int, kernel: Any) -> "SoundBytes":
        order, end, end_offset = BatchOrder(), 0, around.end().base_offset
        array = None if kernel is None else kernel.array(data)
        try:
            while end < limit:
                batch = read_batch(data, end)
                following, last = end, batch.last_offset
                if array is not None and batch.leader_epoch >= order.epoch:
                    following, last = kernel.end_of_run(array, limit, batch, end_offset)
                if following == end:  # there is damage, or a format of before Kafka 0.11
                    batch.ensure_valid()
                    following, last = end + batch.size, batch.last_offset
                order.take(batch, around)
                if not end:
                    view.ensure_begin(batch.base_offset)
                end, order.last_offset = following, last
        except LogStoreError as error:
            return cls(end, error)
        return cls(end)
