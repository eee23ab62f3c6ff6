"""Segments whose offsets are too far apart for their indexes, and how they are split (Kafka: splitOverflowedSegment).

Compaction in early versions of Kafka wrote such segments (KAFKA-5413, KAFKA-6264).
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from epoch.filesystem import FileSystem
from epoch.history import MAX_OFFSET
from logstore.errors import LogStoreError
from logstore.file_name import FileFate, FileKind, file_name
from logstore.files.index_slots import MAX_RELATIVE_OFFSET
from logstore.offline.log_file import LogFile


class Part(NamedTuple):
    """A piece of a segment's file that becomes a segment of its own."""

    base_offset: int
    """Of its first batch."""
    position: int
    """Where that batch begins."""
    end: int | None = None
    """Where it ends; None where that is where the next part begins, and the last takes all that follows."""


def plan_split(log: LogFile, base_offset: int) -> tuple[Part, ...]:
    """Divide a segment so that each part's offsets fit its index: into the fewest parts.

    There is one where they would fit if the segment were only called by its first batch's offset, and none where it
    need not or cannot be split: where offsets do not rise throughout, it is damage that makes them too far apart.
    """
    parts: list[Part] = []
    last_offset = -1
    try:
        for batch in log.batches():
            _ = batch.record_count  # raises for wrapped messages that nobody can read: their first offset is not known
            if not last_offset < batch.base_offset <= batch.last_offset < MAX_OFFSET:
                return ()
            if not parts or batch.last_offset - parts[-1].base_offset > MAX_RELATIVE_OFFSET:
                parts.append(Part(batch.base_offset, batch.position))
            last_offset = batch.last_offset
    except LogStoreError:
        pass  # all that follows stays with the last part
    first = parts[0].base_offset if parts else base_offset
    return tuple(parts) if first > base_offset or (first == base_offset and len(parts) > 1) else ()


def write_parts(directory: Path, base_offset: int, parts: Sequence[Part], filesystem: FileSystem) -> None:
    """Copy a segment's parts to `.log.swap` files, which the next start puts in its place (Kafka: replaceSegments).

    A crash before all of them are complete leaves one that is not, and the next start removes them all: the last are
    renamed first. Raises OSError.
    """
    with LogFile.open(directory / file_name(FileKind.LOG, base_offset)) as log:
        ends = [*(part.position for part in parts), log.size]
        for part, (start, next_start) in zip(parts, pairwise(ends), strict=True):
            end = next_start if part.end is None else part.end
            descriptor = filesystem.open(_name(directory, part, FileFate.CLEANED), truncate=True)
            try:
                filesystem.write(descriptor, log.data[start:end])
                filesystem.fsync(descriptor)
            finally:
                filesystem.close(descriptor)
    for part in reversed(parts):
        filesystem.rename(_name(directory, part, FileFate.CLEANED), _name(directory, part, FileFate.SWAP))
    filesystem.fsync_directory(directory)


def _name(directory: Path, part: Part, fate: FileFate) -> Path:
    return directory / file_name(FileKind.LOG, part.base_offset, fate)
