"""The records of a work queue's log: items, and what is decided of them."""

from pathlib import Path
from struct import Struct, error
from typing import Final

from logstore.batch.record import Record
from logstore.errors import CorruptRecordError
from logstore.queue.queue_state import Change, ChangeKind, Entry, Status, fresh

_ITEM: Final = Struct(">cBBiiqq")
_CHANGE: Final = Struct(">cBqi")
_ID_BYTES: Final = 8
MOST_OVERHEAD: Final = 256
"""Bytes that a batch needs beside the value of one item, at most."""


def item_record(value: bytes, entry: Entry, item: int, now_ms: int) -> Record:
    """Return the record of an item; -1 for `item` where that is to be the record's offset.

    An item that is ready, of priority 0, needs no such key: the value alone stands for it.
    """
    key = _ITEM.pack(b"i", entry.priority, entry.status, entry.attempts, entry.limit, entry.due_ms, item)
    return Record.of(value, key, timestamp=now_ms)


def change_record(change: Change, now_ms: int) -> Record:
    """Return the record of a decision."""
    ids = b"".join([item.to_bytes(_ID_BYTES) for item in change.ids])
    key = _CHANGE.pack(b"c", change.kind, change.due_ms, change.limit)
    return Record.of(ids, key, timestamp=now_ms)


def read_record(record: Record, directory: Path, back_ms: int = 0) -> tuple[int, Entry] | Change:
    """Return the item of a record with its entry, or the decision; all times `back_ms` earlier.

    Raises CorruptRecordError for what no queue has written.
    """
    key, value = record.key, record.value or b""
    try:
        if key is None:
            return record.offset, fresh(len(value))
        if key[:1] == b"i":
            _, priority, status, attempts, limit, due_ms, item = _ITEM.unpack(key)
            place = record.offset
            entry = Entry(len(value), priority, Status(status), attempts, limit, due_ms - back_ms, place)
            return place if item < 0 else item, entry
        _, kind, due_ms, limit = _CHANGE.unpack(key)
        starts = range(0, len(value), _ID_BYTES)
        ids = [int.from_bytes(value[start : start + _ID_BYTES]) for start in starts]
        return Change(ChangeKind(kind), ids, due_ms - back_ms, limit)
    except (error, ValueError):
        raise CorruptRecordError(
            f"a record with the key {key!r} is none of a work queue",
            file=directory,
            offset=record.offset,
            advice="open the directory with WorkQueue.open alone, and with a version that is not older than its writer",
        ) from None
