"""A segment's header chain, held against its batches as the log is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from logstore import offline
from logstore.file_name import FileKind, file_name
from logstore.segment.chain_fault import ChainFault
from logstore.segment.header_chain import HeaderChain
from logstore.segment.live_chain import cut_chain

if TYPE_CHECKING:
    from pathlib import Path

    from epoch.filesystem import FileSystem
    from epoch.history import EpochHistory


class ExaminedChain(NamedTuple):
    """What opening a log finds of one segment's chain."""

    fault: ChainFault | None = None
    is_rewritten: bool = False
    """Whether the fault is that others have truncated the log since, and written it anew, or compacted it."""
    is_continued: bool = False
    """Whether somebody has written to the segment since it was closed."""


NOTHING_FOUND = ExaminedChain()


def examine(
    directory: Path, base_offset: int, epochs: EpochHistory, *, was_closed: bool, is_compacted: bool
) -> ExaminedChain:
    """Hold the chain of a segment against its batches, as far as both go; where it `was_closed`, by its mark alone.

    Of a log that `is_compacted` others may have replaced the segment. Nothing is found where there is no chain, and
    what is no batch is found by others. Raises OSError.
    """
    path, log_path = (directory / file_name(kind, base_offset) for kind in (FileKind.HEADER_CHAIN, FileKind.LOG))
    if was_closed:
        found = HeaderChain.read(path, most=1)
        if found is None or not found.end.position:
            return NOTHING_FOUND
        if not found.end.modified_ns or found.end.is_as_left(log_path):
            return NOTHING_FOUND
    found = HeaderChain.read(path)
    if found is None or found.start.base_offset != base_offset:
        return NOTHING_FOUND
    with offline.log_file.LogFile.open(log_path) as log:
        is_continued = was_closed and log.size > found.end.position
        mismatch = found.first_mismatch(log.data)
    if mismatch is None:
        return ExaminedChain(is_continued=is_continued)
    link, before = mismatch
    fault = ChainFault(log_path.name, before.position, link.position, before.offset + 1, link.offset)
    is_replaced = is_compacted and not found.end.is_as_left(log_path)
    return ExaminedChain(fault, is_replaced or link.is_over(epochs), is_continued)


def cut_to_log(directory: Path, base_offset: int, filesystem: FileSystem) -> None:
    """Remove, durably, what a chain says beyond the end of its segment. Raises OSError."""
    path, log = (directory / file_name(kind, base_offset) for kind in (FileKind.HEADER_CHAIN, FileKind.LOG))
    found = HeaderChain.read(path, most=1)
    size = log.stat().st_size
    if found is not None and found.end.position > size:
        cut_chain(path, size, filesystem)
