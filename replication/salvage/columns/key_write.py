"""The last record of a key in one copy."""

from typing import Final, NamedTuple

from logstore.batch.columns import RecordColumns
from logstore.offline.columns.column_reader import Chunk

MOST_OF_VALUE: Final = 64
"""Bytes of a value that are remembered, for somebody to know it by: its record's place is there to read all of it."""


class KeyWrite(NamedTuple):
    """The last record of a key in one copy."""

    source: str
    leader_epoch: int
    offset: int
    timestamp: int
    value: bytes | None
    """Its first bytes, `MOST_OF_VALUE` at most; None for a tombstone."""
    value_size: int | None
    """Bytes of the whole value."""

    @classmethod
    def of(cls, source: str, chunk: Chunk, row: int) -> "KeyWrite":
        """Take a record, and of its value the first bytes."""
        records, batches = chunk
        epoch = int(batches.leader_epoch[records.batch[row]])
        place = source, epoch, int(records.offset[row]), int(records.timestamp[row])
        start, size = int(records.value_start[row]), int(records.value_length[row])
        if size < 0:
            return cls(*place, None, None)
        return cls(*place, records.data[start : start + min(size, MOST_OF_VALUE)].tobytes(), size)


def key_of(records: RecordColumns, row: int) -> bytes:
    """Return the key of a record that has one."""
    start = int(records.key_start[row])
    return records.data[start : start + int(records.key_length[row])].tobytes()
