"""Whether a segment's index files can be used, as far as a look at them tells (Kafka: LogSegment.sanityCheck)."""

import os
from pathlib import Path
from typing import Final

from logstore.errors import CorruptIndexError
from logstore.file_name import FileKind, file_name
from logstore.files.index_slots import OFFSET_SLOT, TIME_SLOT
from logstore.indexes.offset_index import OffsetIndex
from logstore.indexes.transaction_index import TransactionIndex

SLOTS: Final = {FileKind.OFFSET_INDEX: OFFSET_SLOT, FileKind.TIME_INDEX: TIME_SLOT}


def has_good_indexes(directory: Path, base_offset: int) -> bool:
    """Check what costs nothing: that the index files are there, of whole slots, and end within the log.

    Raises OSError.
    """
    size = (directory / file_name(FileKind.LOG, base_offset)).stat().st_size
    for kind, slot in SLOTS.items():
        path = directory / file_name(kind, base_offset)
        try:
            index_size = path.stat().st_size
        except FileNotFoundError:
            # A new segment has no index files until something is written to it.
            return size == 0
        if index_size % slot.itemsize:
            return False
    return last_indexed_position(directory, base_offset) < max(size, 1) and _has_good_transactions(
        directory, base_offset
    )


def last_indexed_position(directory: Path, base_offset: int) -> int:
    """Read where the batch of the offset index's last entry begins; 0 where there is none. Raises OSError."""
    path = directory / file_name(FileKind.OFFSET_INDEX, base_offset)
    if not path.exists() or not path.stat().st_size:
        return 0
    with open(path, "rb") as file:
        file.seek(-OFFSET_SLOT.itemsize, os.SEEK_END)
        slot = file.read()
    if any(slot):
        return int.from_bytes(slot[4:], "big")
    # A broker that was killed left zeros after the entries: they are not entries.
    last = OffsetIndex.read(path, base_offset).last
    return last.position if last else 0


def _has_good_transactions(directory: Path, base_offset: int) -> bool:
    """Look at the aborted transactions; few segments have any."""
    try:
        index = TransactionIndex.read(directory / file_name(FileKind.TRANSACTION_INDEX, base_offset))
    except FileNotFoundError:
        return True
    except CorruptIndexError:
        return False
    return not index.odd_bytes and all(entry.last_offset >= base_offset for entry in index.entries)
