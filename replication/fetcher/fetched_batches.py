"""What a leader sent of one partition, looked at before it is appended: how much of it is whole, in which epochs."""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from logstore.batch import HEADER_SIZE, LOG_OVERHEAD
from logstore.message_set import SMALLEST_MESSAGE

# Base offset, length, leader epoch, magic: they stand outside of what the checksum covers.
_PLACE: Final = Struct(">qiib")
_INT32: Final = Struct(">i")
_LENGTH_POSITION: Final = 8
_LAST_OFFSET_DELTA_POSITION: Final = 23
_RECORD_BATCH: Final = 2
_SMALLEST_BATCH: Final = HEADER_SIZE - LOG_OVERHEAD
_SMALLEST_MESSAGE: Final = SMALLEST_MESSAGE - LOG_OVERHEAD


class EpochsOutOfOrderError(ValueError):
    """A batch's epoch is below that of one before it, or there is none."""

    def __init__(self, epoch: int, latest_epoch: int, offset: int) -> None:
        """Name the batch, its epoch, and the epoch before it."""
        told = "has no leader epoch" if epoch < 0 else f"is of epoch {epoch}, and follows one of epoch {latest_epoch}"
        super().__init__(f"the batch at offset {offset:,} {told}")


class OffsetsOverlapError(ValueError):
    """A batch begins within the one before it."""

    def __init__(self, offset: int, last_offset: int) -> None:
        """Name the batch, and where the one before it ends."""
        super().__init__(f"a batch begins at offset {offset:,}, and follows one that ends with {last_offset:,}")


def whole_batches(records: bytes | memoryview, latest_epoch: int) -> memoryview:
    """Return the batches that came whole: a leader cuts the last one off where its answer is full.

    Only what no checksum covers is looked at: lengths, epochs, base offsets. What has a length that cannot be is left
    for the log to refuse. `latest_epoch` is that of the log's last batch, or -1. Raises EpochsOutOfOrderError, and
    OffsetsOverlapError, which Kafka does not look for: its followers compare last offsets only.
    """
    view = memoryview(records).toreadonly()
    unpack = _PLACE.unpack_from
    lowest, last_offset = max(latest_epoch, 0), -1
    position, size = 0, len(view)
    while size - position >= _PLACE.size:
        offset, length, epoch, magic = unpack(view, position)
        if length > size - position - LOG_OVERHEAD:
            break
        if magic == _RECORD_BATCH:
            if length < _SMALLEST_BATCH:
                return view
            if epoch < lowest:
                raise EpochsOutOfOrderError(epoch, latest_epoch, offset)
            if offset <= last_offset:
                raise OffsetsOverlapError(offset, last_offset)
            lowest = latest_epoch = epoch
            last_offset = offset + _INT32.unpack_from(view, position + _LAST_OFFSET_DELTA_POSITION)[0]
        elif length < _SMALLEST_MESSAGE:
            return view
        position += LOG_OVERHEAD + length
    return view[:position]


def split_batches(batches: memoryview, most: int) -> Iterator[memoryview]:
    """Give whole batches in parts of `most` bytes at most; of one batch at least, however large it is."""
    start = position = 0
    while position < len(batches):
        end = position + LOG_OVERHEAD + _INT32.unpack_from(batches, position + _LENGTH_POSITION)[0]
        if end - start > most and position > start:
            yield batches[start:position]
            start = position
        position = end
    yield batches[start:]
