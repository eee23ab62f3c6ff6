"""Whether a segment's index files can be used, as far as a look at them shows (Kafka: LogSegment.sanityCheck)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from logstore import indexes
from logstore.errors import CorruptIndexError
from logstore.file_name import FileKind, file_name
from logstore.files.index_slots import OFFSET_SLOT, TIME_SLOT

if TYPE_CHECKING:
    from pathlib import Path

SLOTS: Final = {FileKind.OFFSET_INDEX: OFFSET_SLOT, FileKind.TIME_INDEX: TIME_SLOT}


def sane_position(directory: Path, base_offset: int) -> int | None:
    """Return what `last_indexed_position` does; None where the index files cannot be used.

    Checked is what costs nothing: that they are there, of whole slots, and end within the log. Raises OSError.
    """
    size = (directory / file_name(FileKind.LOG, base_offset)).stat().st_size
    paths = {kind: directory / file_name(kind, base_offset) for kind in SLOTS}
    try:
        if any(paths[kind].stat().st_size % slot for kind, slot in SLOTS.items()):
            return None
    except FileNotFoundError:
        # A new segment has no index files until something is written to it.
        return None if size else 0
    position = _last_position(paths[FileKind.OFFSET_INDEX], base_offset)
    return position if position < max(size, 1) and _has_good_transactions(directory, base_offset) else None


def last_indexed_position(directory: Path, base_offset: int) -> int:
    """Read where the batch of the offset index's last entry begins; 0 where there is none. Raises OSError."""
    return _last_position(directory / file_name(FileKind.OFFSET_INDEX, base_offset), base_offset)


def _last_position(path: Path, base_offset: int) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    try:
        last_slot = os.fstat(descriptor).st_size - OFFSET_SLOT
        if last_slot < 0:
            return 0
        slot = os.pread(descriptor, OFFSET_SLOT, last_slot)
    finally:
        os.close(descriptor)
    if any(slot):
        return int.from_bytes(slot[4:], "big")
    # A broker that was killed left zeros after the entries: they are not entries.
    last = indexes.offset_index.OffsetIndex.read(path, base_offset).last
    return last.position if last else 0


def _has_good_transactions(directory: Path, base_offset: int) -> bool:
    """Look at the aborted transactions; few segments have any."""
    path = directory / file_name(FileKind.TRANSACTION_INDEX, base_offset)
    if not path.exists():
        return True
    try:
        index = indexes.transaction_index.TransactionIndex.read(path)
    except CorruptIndexError:
        return False
    return not index.odd_bytes and all(entry.last_offset >= base_offset for entry in index.entries)
