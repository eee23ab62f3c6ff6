"""The copy that a repair writes: logs as planned, what is beside them as it was or made anew."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from epoch.filesystem import FileSystem
from logstore.file_name import FileFate, FileKind, file_name, parse_file_name
from logstore.files.directory_lock import LOCK_NAME
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.offline.directory_copy import copy_directory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import Finding, verify_partition
from logstore.verify.directory_check import topic_id_missing
from logstore.verify.root_check import HIGH_WATERMARK_BEYOND_END, RECOVERY_POINT_BEYOND_END
from replication.copies.repair.layout import Layout, Piece
from replication.copies.repair.side_files import SideFiles

_AT_ONCE: Final = 8 << 20
"""Bytes of one write."""
_ROOTS_FINDINGS: Final = frozenset({HIGH_WATERMARK_BEYOND_END, RECOVERY_POINT_BEYOND_END})


def write_copy(
    source: PartitionDirectory,
    layout: Layout,
    target: Path,
    filesystem: FileSystem,
    progress: Callable[[int], object],
    metadata: PartitionMetadata | None = None,
) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """Write a copy to a new directory, durably: return what was made anew, and what is still wrong. Raises OSError.

    With `metadata` the original lacks it.
    """
    changed = layout.changed()
    names = {file_name(FileKind.LOG, base) for base in changed}
    copy_directory(
        source.path,
        target,
        without={source.path / name for name in (*names, *_not_files(source))},
        filesystem=filesystem,
        progress=progress,
    )
    for base, pieces in changed.items():
        _write_log(target / file_name(FileKind.LOG, base), pieces, filesystem, progress)
    if metadata is not None:
        metadata.write(target / PARTITION_METADATA_NAME, filesystem)
    found = _findings(source, target)
    made = SideFiles(_opened(source, target), found, layout.outdated(), filesystem).make()
    findings = _findings(source, target) if made else found
    _flush(target, filesystem)
    return (*made, *([PARTITION_METADATA_NAME] if metadata else [])), findings


def _not_files(partition: PartitionDirectory) -> Iterator[str]:
    """Find what stands in the place of files of the log, and is none."""
    listing = partition.listing
    for name in {**listing.directories, **listing.other, **listing.escaping_links}:
        parsed = parse_file_name(name)
        if parsed.fate is FileFate.LIVE and parsed.kind is not FileKind.UNKNOWN:
            yield name


def _write_log(path: Path, pieces: list[Piece], filesystem: FileSystem, progress: Callable[[int], object]) -> None:
    descriptor = filesystem.open(path, truncate=True)
    try:
        for log, start, end in pieces:
            for position in range(start, end, _AT_ONCE):
                part = log.data[position : min(position + _AT_ONCE, end)]
                filesystem.write(descriptor, part)
                progress(len(part))
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        filesystem.close(descriptor)


def _opened(source: PartitionDirectory, target: Path) -> PartitionDirectory:
    """Open the copy with what the checkpoint files say of the original."""
    copy = PartitionDirectory.open(target)
    return PartitionDirectory(
        copy.path, copy.topic_partition, copy.listing, source.checkpoints, copy.root, copy.own_checkpoints
    )


def _findings(source: PartitionDirectory, target: Path) -> tuple[Finding, ...]:
    copy = _opened(source, target)
    # Whether a broker needs the file, its root tells, beside which the copy may not stand.
    lacking = () if PARTITION_METADATA_NAME in copy.listing.files else topic_id_missing(source)
    found = dict.fromkeys((*lacking, *verify_partition(copy)))
    return tuple(each for each in found if each.severity.needs_attention and each.kind not in _ROOTS_FINDINGS)


def _flush(directory: Path, filesystem: FileSystem) -> None:
    """Put all files of the copy on the disk, and their names."""
    for path in sorted(directory.rglob("*")):
        if path.is_dir():
            filesystem.fsync_directory(path)
        elif path.name != LOCK_NAME:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                filesystem.fsync(descriptor)
            finally:
                os.close(descriptor)
    filesystem.fsync_directory(directory)
