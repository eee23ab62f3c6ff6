"""Batches and records as columns: what the kernels write and bulk readers work on."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from logstore.batch.layout import MAGIC
from logstore.batch.record import Record


class StopReason(IntEnum):
    """Why a scan of batches stopped at `BatchColumns.next_position`; recovery alone has the last three reasons."""

    END = 0
    """All bytes were read."""
    MORE = 1
    """The columns are full: scan on from `next_position`."""
    TORN = 2
    """Fewer bytes are left than a header, or than the batch says it has."""
    BAD_LENGTH = 3
    """The length field is smaller than the smallest batch."""
    BAD_MAGIC = 4
    """The magic byte is not 0, 1 or 2."""
    BAD_HEADER = 5
    """A header field is invalid: a negative offset, offset delta, or record count."""
    LEGACY = 6
    """A batch of magic 0 or 1 follows, which only `LogFile.batches` reads."""
    BAD_CRC = 7
    """A batch's checksum does not match."""
    OUT_OF_RANGE = 8
    """A batch's last offset is below the segment's first, or too far above it for the indexes."""
    OUT_OF_ORDER = 9
    """A batch begins below the end of the one before it, which matters where no other node has a copy."""


@dataclass(frozen=True, slots=True)
class BatchColumns:
    """Headers of consecutive batches of one log file, one row a batch, in file order.

    Positions and sizes are bytes from the start of the file; timestamps are milliseconds since 1970 UTC.
    """

    position: NDArray[np.int64]
    size: NDArray[np.int64]
    """Bytes of the whole batch, its 12 leading bytes of offset and length included."""
    base_offset: NDArray[np.int64]
    last_offset: NDArray[np.int64]
    leader_epoch: NDArray[np.int32]
    magic: NDArray[np.int8]
    attributes: NDArray[np.int16]
    base_timestamp: NDArray[np.int64]
    max_timestamp: NDArray[np.int64]
    producer_id: NDArray[np.int64]
    producer_epoch: NDArray[np.int16]
    base_sequence: NDArray[np.int32]
    record_count: NDArray[np.int32]
    crc: NDArray[np.uint32]
    """The checksum as stored."""
    crc_valid: NDArray[np.bool_]
    """Whether the checksum is valid; all true when the scan was not to check."""
    next_position: int
    """Where the scan stopped: the end of the last batch here."""
    stop: StopReason

    def __repr__(self) -> str:
        return f"BatchColumns({len(self):,} batches, next_position={self.next_position}, stop={self.stop.name})"

    def __len__(self) -> int:
        return len(self.position)

    @property
    def is_unread(self) -> NDArray[np.bool_]:
        """Which are wrapped sets of magic 0 or 1 that cannot be read: their first offset is not known."""
        unread: NDArray[np.bool_] = (self.magic < MAGIC) & (self.record_count == 0)
        return unread

    @property
    def has_too_many(self) -> NDArray[np.bool_]:
        """Which have more records than their headers have offsets for."""
        is_new = self.magic == MAGIC
        too_many: NDArray[np.bool_] = is_new & (self.record_count > self.last_offset - self.base_offset + 1)
        return too_many

    def first(self, count: int) -> "BatchColumns":
        """Return the first `count` batches as views; there is more to read unless these are all."""
        if count >= len(self):
            return self
        columns = {name: getattr(self, name)[:count] for name in _BATCH_COLUMNS}
        return BatchColumns(**columns, next_position=int(self.position[count]), stop=StopReason.MORE)

    def where(self, chosen: NDArray[np.bool_]) -> "BatchColumns":
        """Return the chosen batches, of what has been read as far as these."""
        columns = {name: getattr(self, name)[chosen] for name in _BATCH_COLUMNS}
        return BatchColumns(**columns, next_position=self.next_position, stop=self.stop)

    def slice(self, first: int, last: int, next_position: int, stop: StopReason) -> "BatchColumns":
        """Return the batches from row `first` to `last`, which is left out, as views, and how their scan ended."""
        columns = {name: getattr(self, name)[first:last] for name in _BATCH_COLUMNS}
        return BatchColumns(**columns, next_position=next_position, stop=stop)

    def copy(self) -> "BatchColumns":
        """Return the same in memory of its own."""
        columns = {name: getattr(self, name).copy() for name in _BATCH_COLUMNS}
        return BatchColumns(**columns, next_position=self.next_position, stop=self.stop)

    @classmethod
    def joined(cls, parts: Sequence["BatchColumns"]) -> "BatchColumns":
        """Return consecutive batches as one; there is one part at least."""
        if len(parts) == 1:
            return parts[0]
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _BATCH_COLUMNS}
        return cls(**columns, next_position=parts[-1].next_position, stop=parts[-1].stop)


_BATCH_COLUMNS = tuple(column.name for column in fields(BatchColumns) if column.name not in {"next_position", "stop"})


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Records as columns, one row a record. Starts are positions in `data`; a length of -1 is null."""

    data: NDArray[np.uint8]
    batch: NDArray[np.int64]
    """Row number of the record's batch among those decoded."""
    offset: NDArray[np.int64]
    timestamp: NDArray[np.int64]
    key_start: NDArray[np.int64]
    key_length: NDArray[np.int32]
    value_start: NDArray[np.int64]
    value_length: NDArray[np.int32]
    headers_start: NDArray[np.int64]
    header_count: NDArray[np.int32]

    def __repr__(self) -> str:
        return f"RecordColumns({len(self):,} records, {len(self.data):,} bytes)"

    @classmethod
    def of(cls, records: Sequence[Record], row: int) -> "RecordColumns":
        """Make columns of the decoded records of one batch, without their headers."""
        parts = [part for record in records for part in (record.key, record.value)]
        lengths = np.array([-1 if part is None else len(part) for part in parts], np.int32)
        starts = np.cumsum(np.maximum(lengths, 0), dtype=np.int64) - np.maximum(lengths, 0)
        return cls(
            data=np.frombuffer(b"".join(part or b"" for part in parts), np.uint8),
            batch=np.full(len(records), row, np.int64),
            offset=np.array([record.offset for record in records], np.int64),
            timestamp=np.array([record.timestamp for record in records], np.int64),
            key_start=starts[0::2],
            key_length=lengths[0::2],
            value_start=starts[1::2],
            value_length=lengths[1::2],
            headers_start=np.zeros(len(records), np.int64),
            header_count=np.zeros(len(records), np.int32),
        )

    def __len__(self) -> int:
        return len(self.offset)

    def take(self, rows: NDArray[np.int64]) -> "RecordColumns":
        """Return the records in these rows."""
        return RecordColumns(self.data, *(getattr(self, name)[rows] for name in _RECORD_COLUMNS))

    def slice(self, first: int, last: int) -> "RecordColumns":
        """Return the records from row `first` to `last`, which is left out, as views."""
        return RecordColumns(self.data, *(getattr(self, name)[first:last] for name in _RECORD_COLUMNS))


_RECORD_COLUMNS = tuple(column.name for column in fields(RecordColumns) if column.name != "data")
