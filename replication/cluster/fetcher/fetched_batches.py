"""What a leader sent of one partition, looked at before it is appended: how much of it is whole, in which order."""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple, NoReturn

from epoch.history import MAX_OFFSET
from logstore.batch.batches import read_batches
from logstore.batch.layout import (
    LAST_OFFSET_DELTA_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    SMALLEST_LENGTH,
    SMALLEST_MESSAGE,
    header_of,
)
from logstore.errors import InvalidBatchHeaderError

_PLACE: Final = header_of("base_offset", "length", "leader_epoch", "magic")
"""What stands outside of what the checksum covers."""
_INT32: Final = Struct(">i")
_SMALLEST_MESSAGE: Final = SMALLEST_MESSAGE - LOG_OVERHEAD


class EpochsOutOfOrderError(ValueError):
    """A batch's epoch is below that of one before it, or there is none."""

    def __init__(self, epoch: int, latest_epoch: int, offset: int) -> None:
        """Name the batch, its epoch, and the epoch before it."""
        told = "has no leader epoch" if epoch < 0 else f"has epoch {epoch}, but follows one of epoch {latest_epoch}"
        super().__init__(f"the batch at offset {offset:,} {told}")


class OffsetsOverlapError(ValueError):
    """A batch begins within the one before it."""

    def __init__(self, offset: int, last_offset: int) -> None:
        """Name the batch, and where the one before it ends."""
        super().__init__(f"a batch begins at offset {offset:,}, but the one before it ends with {last_offset:,}")


class GapAboveHighWatermarkError(ValueError):
    """Offsets are missing before a batch that is not known to be committed: no leader's log has such a gap."""

    def __init__(self, offset: int, expected_offset: int, high_watermark: int) -> None:
        """Name the batch, where it should begin, and the high watermark of the same answer."""
        super().__init__(
            f"a batch begins at offset {offset:,} instead of {expected_offset:,}, above the reported high watermark "
            f"{high_watermark:,}, where nothing is compacted"
        )


class LastBatch(NamedTuple):
    """What the last of some batches says of its place, which no checksum covers."""

    base_offset: int
    """At which offset it begins; of magic 0 and 1 this is its last offset, as no other stands in its header."""
    epoch: int
    expected_offset: int
    """At which offset it would begin if nothing were missing before it."""
    expected_epoch: int
    """Of the batch before it."""

    @property
    def continues(self) -> bool:
        """Whether it goes on where the batch before it ended, in the same epoch; the first epoch of all is 0."""
        return self.base_offset <= self.expected_offset and self.epoch == max(self.expected_epoch, 0)

    def __str__(self) -> str:
        return f"at offset {self.base_offset:,} in epoch {self.epoch}"


class WholeBatches(NamedTuple):
    """The batches of an answer that came whole, and where the last of them begins."""

    data: memoryview
    last_position: int
    last: LastBatch


def whole_batches(
    records: bytes | memoryview, latest_epoch: int, next_offset: int = 0, high_watermark: int = MAX_OFFSET
) -> WholeBatches:
    """Return the batches that came whole: a leader cuts the last one off where its answer is full.

    Lengths and magics are looked at, and what no checksum covers: epochs and base offsets. Only where these make no
    sense checksums are, too, since a batch that is damaged says nothing of its order; whoever appends checks them
    anyway. `latest_epoch` is that of the log's last batch, or -1; `next_offset` is where the log ends, and
    `high_watermark` is that of the same answer.

    Raises InvalidBatchHeaderError and CorruptBatchError; EpochsOutOfOrderError; OffsetsOverlapError and
    GapAboveHighWatermarkError, which Kafka does not look for: its followers compare last offsets only.
    """
    view = memoryview(records).toreadonly()
    unpack = _PLACE.unpack_from
    last_offset, following = -1, next_offset
    position, size = 0, len(view)
    last_position, last = 0, (next_offset, latest_epoch, next_offset, latest_epoch)
    while size - position >= _PLACE.size:
        offset, length, epoch, magic = unpack(view, position)
        if length > size - position - LOG_OVERHEAD:
            break
        if magic == MAGIC:
            if length < SMALLEST_LENGTH:
                _refuse_form(length, position)
            if epoch < latest_epoch or epoch < 0:
                _ensure_sound(view[: position + LOG_OVERHEAD + length])
                raise EpochsOutOfOrderError(epoch, latest_epoch, offset)
            if offset <= last_offset:
                _ensure_sound(view[: position + LOG_OVERHEAD + length])
                raise OffsetsOverlapError(offset, last_offset)
            if offset > following and offset >= high_watermark:
                _ensure_sound(view[: position + LOG_OVERHEAD + length])
                raise GapAboveHighWatermarkError(offset, following, high_watermark)
            last = offset, epoch, following, latest_epoch
            latest_epoch = epoch
            last_offset = offset + _INT32.unpack_from(view, position + LAST_OFFSET_DELTA_AT)[0]
        elif length < _SMALLEST_MESSAGE:
            _refuse_form(length, position)
        else:
            last = offset, latest_epoch, following, latest_epoch
            last_offset = offset
        last_position, following = position, last_offset + 1
        position += LOG_OVERHEAD + length
    return WholeBatches(view[:position], last_position, LastBatch(*last))


def before_offset(batches: memoryview, offset: int) -> memoryview:
    """Return those of whole batches that begin below an offset, up to the first that does not."""
    position = 0
    while position < len(batches) and _PLACE.unpack_from(batches, position)[0] < offset:
        position = _end_of_batch(batches, position)
    return batches[:position]


def split_batches(batches: memoryview, most: int) -> Iterator[memoryview]:
    """Give whole batches in parts of `most` bytes at most; of one batch at least, however large it is."""
    start = position = 0
    while position < len(batches):
        end = _end_of_batch(batches, position)
        if end - start > most and position > start:
            yield batches[start:position]
            start = position
        position = end
    yield batches[start:]


def _end_of_batch(batches: memoryview, position: int) -> int:
    """Return where a batch ends. Raises InvalidBatchHeaderError where no batch has such a length."""
    length = _INT32.unpack_from(batches, position + LENGTH_AT)[0]
    if length < _SMALLEST_MESSAGE:
        _refuse_form(length, position)
    return position + LOG_OVERHEAD + int(length)


def _refuse_form(length: int, position: int) -> NoReturn:
    """Raise InvalidBatchHeaderError for a length that no batch has."""
    raise InvalidBatchHeaderError(f"no batch has a length of {length:,}", position=position)


def _ensure_sound(view: memoryview) -> None:
    """Raise CorruptBatchError unless the checksums of these batches are valid."""
    for batch in read_batches(view):
        batch.ensure_valid()
