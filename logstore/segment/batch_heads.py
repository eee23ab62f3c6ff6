"""The first bytes of batches, which their checksums leave out, and those checksums: what a header chain is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from epoch.compiling.awaited_kernel import PATIENCE, AwaitedKernel
from logstore.batch.batch_attributes import NO_LEADER_EPOCH
from logstore.batch.layout import CRC_START, LOG_OVERHEAD, MAGIC, SMALLEST_MESSAGE, header_of

if TYPE_CHECKING:
    from logstore.batch.buffer import Buffer

HEAD_SIZE: Final = CRC_START
"""Bytes: base offset, length, leader epoch, magic and checksum, or of magic 0 and 1 what stands there."""
BLOCK: Final = 1 << 20
"""Bytes of a log that a chain has one link for, or more up to the end of a batch."""

_unpack_length: Final = header_of("length").unpack_from
_unpack_last: Final = header_of("base_offset", "leader_epoch", "magic").unpack_from
_NO_BYTES: Final = memoryview(b"")
_MOST_HEADS: Final = BLOCK // SMALLEST_MESSAGE + 1


class Heads(NamedTuple):
    """Those of consecutive batches."""

    data: Buffer
    end: int
    """Where the last one ends; where it was to begin without any."""


class LastHead(NamedTuple):
    """What a link says of the batch that it ends with."""

    offset: int
    """Its base offset."""
    leader_epoch: int


def _load_gather_heads() -> Any:
    import numpy as np  # noqa: PLC0415  numba loads on the first bulk operation

    from epoch.compiling.kernel import machine_code  # noqa: PLC0415  numba again
    from logstore.kernels.heads import gather_heads  # noqa: PLC0415  numba again

    return machine_code(gather_heads, _NO_BYTES, 0, 0, np.empty(0, np.uint8))


GATHER_HEADS: Final = AwaitedKernel(_load_gather_heads, patience=PATIENCE * BLOCK)
"""Its work is counted in bytes of the log."""


class HeadReader:
    """Collects the heads of batches, in the same memory again and again."""

    __slots__ = ("_kernel", "_room")

    def __init__(self, work: int) -> None:
        """Read so many bytes of a log from now on: for few of them the kernel is not waited for."""
        self._kernel = GATHER_HEADS.ready(work)
        self._room: Any = None

    def gather(self, log: memoryview, start: int, limit: int) -> Heads:
        """Return the heads of the batches that begin from `start` to before `limit`, no more than a block later.

        They end early at what is no whole batch, and are the caller's until the next call.
        """
        if self._kernel is None:
            return _gather_plainly(log, start, limit)
        if self._room is None:
            import numpy as np  # noqa: PLC0415  the kernel has loaded it

            self._room = np.empty(_MOST_HEADS * HEAD_SIZE, np.uint8)
        rows, end = self._kernel(log.toreadonly(), start, limit, self._room)
        return Heads(self._room[: rows * HEAD_SIZE].data, end)


def _gather_plainly(log: memoryview, start: int, limit: int) -> Heads:
    found: list[memoryview] = []
    limit = min(limit, len(log))
    while start < limit and len(log) - start >= SMALLEST_MESSAGE:
        (length,) = _unpack_length(log, start)
        if not SMALLEST_MESSAGE - LOG_OVERHEAD <= length <= len(log) - start - LOG_OVERHEAD:
            break
        found.append(log[start : start + HEAD_SIZE])
        start += LOG_OVERHEAD + length
    return Heads(b"".join(found), start)


def last_head(heads: Buffer) -> LastHead:
    """Return what a link says of the last of these."""
    offset, leader_epoch, magic = _unpack_last(heads, len(heads) - HEAD_SIZE)
    return LastHead(offset, leader_epoch if magic >= MAGIC else NO_LEADER_EPOCH)
