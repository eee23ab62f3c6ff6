"""Keeps the headers that a pass reads of closed segments, for the next audit."""

from collections.abc import Iterator

import numpy as np

from logstore.batch.batch_attributes import CONTROL_BIT
from logstore.batch.columns import BatchColumns
from logstore.batch.layout import MAGIC
from logstore.offline.segment import Segment
from logstore.verify import Finding
from logstore.verify.log_pass import Chunk, SilentCheck

Controls = list[tuple[int, bytes]]


class HeaderKeeper(SilentCheck):
    """Finds nothing. Segments that are damaged anywhere, or in an old format, are not kept: they are read each time."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[BatchColumns, tuple[tuple[int, bytes], ...]]] = {}
        """By the names of `.log` files: all their batches, and the control batches among them."""
        self.ends: dict[str, tuple[int, int]] = {}
        """Of all `.log` files: where the last batch stands that was seen, and its checksum."""
        self._columns: list[BatchColumns] = []
        self._controls: Controls = []
        self._is_sound = True

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """See `Check`."""
        columns = chunk.columns
        if len(columns):
            self.ends[chunk.segment.log_path.name] = int(columns.position[-1]), int(columns.crc[-1])
        if not chunk.is_active and self._is_sound:
            self._is_sound = bool((columns.crc_valid & (columns.magic == MAGIC)).all())
            self._columns.append(columns.copy())  # its memory is used again
            self._controls += _controls(chunk)
        yield from ()

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """See `Check`."""
        del segment, start, end
        self._is_sound = False

    def end_segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        """See `Check`."""
        if not is_active and self._is_sound and self._columns:
            self.kept[segment.log_path.name] = BatchColumns.joined(self._columns), tuple(self._controls)
        self._columns, self._controls, self._is_sound = [], [], True
        yield from ()


def _controls(chunk: Chunk) -> Controls:
    columns = chunk.columns
    rows = np.flatnonzero(columns.attributes & CONTROL_BIT)
    places = [(int(columns.position[row]), int(columns.size[row])) for row in rows]
    return [(position, bytes(chunk.log.data[position : position + size])) for position, size in places]
