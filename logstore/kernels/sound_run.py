"""Go over batches that follow one another in one leader epoch, and check them."""

from epoch.compiling.kernel import borrowed, inlined, kernel
from logstore.batch.layout import CRC_AT, CRC_START, LAST_OFFSET_DELTA_AT, LEADER_EPOCH_AT, LENGTH_AT, LOG_OVERHEAD
from logstore.kernels.bytes import Data, int32, int64, uint32
from logstore.kernels.crc import crc32c
from logstore.kernels.scan import COMPLETE, what_follows


@kernel
def sound_run(
    data: Data, start: int, limit: int, previous_offset: int, leader_epoch: int, end_offset: int
) -> tuple[int, int]:
    """Check batches of `leader_epoch` from `start` on that begin before `limit`; return where the sound ones end.

    And the last offset of these. They go on behind `previous_offset`, or leave what follows them its room, as
    `BatchOrder` has it; what else it would take is left to it. None but those that just go on reach `end_offset`.
    """
    data = borrowed(data)
    at, last = start, previous_offset
    while at < limit and what_follows(data, at, data.size) == COMPLETE:
        base_offset, whole = int64(data, at), LOG_OVERHEAD + int32(data, at + LENGTH_AT)
        reached = base_offset + int32(data, at + LAST_OFFSET_DELTA_AT)
        if int32(data, at + LEADER_EPOCH_AT) != leader_epoch:
            break
        if base_offset != last + 1 and (
            base_offset <= last or reached >= end_offset or not leaves_room(data, at + whole, reached, leader_epoch)
        ):
            break
        if crc32c(data, at + CRC_START, at + whole) != uint32(data, at + CRC_AT):
            break
        at += whole
        last = reached
    return at, last


@inlined
def leaves_room(data: Data, following: int, reached: int, leader_epoch: int) -> bool:
    """Whether a batch stands at `following` that begins behind `reached`, in the same leader epoch."""
    return (
        what_follows(data, following, data.size) == COMPLETE
        and int64(data, following) > reached
        and int32(data, following + LEADER_EPOCH_AT) == leader_epoch
    )
