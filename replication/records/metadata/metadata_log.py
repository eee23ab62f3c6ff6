"""The log `__cluster_metadata-0`: what to read of it and how to write to it."""

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from logstore.append.append_info import AppendInfo
from logstore.batch.any_batch import Batch
from logstore.batch.record import Record
from logstore.clock import now_ms
from logstore.errors import InvalidBatchHeaderError, TornBatchError
from logstore.file_name import FileKind, file_name
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation
from logstore.offline.log_file import LogFile
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.tail_rereader import TailRereader
from replication.records.metadata.batches import RECOVER_ADVICE, MetadataBatch, metadata_batch
from replication.records.metadata.errors import DamagedMetadataError
from replication.records.metadata.framing import encode
from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION
from replication.records.metadata.records import MetadataRecord

_READ_BYTES: Final = 8 << 20
_HOLE_ADVICE: Final = (
    "nothing from here on can be trusted: cut it off with `epochlog truncate --to {}`; a controller fetches what it "
    "then lacks from the quorum's leader"
)


def append_metadata(
    log: Log,
    records: Sequence[MetadataRecord],
    *,
    leader_epoch: int,
    metadata_version: int = LATEST_METADATA_VERSION,
    timestamp: int | None = None,
) -> AppendInfo:
    """Append records as one batch, which is written whole or not at all, as the controller of an epoch.

    `timestamp` is in milliseconds since 1970 UTC, now by default. Raises InvalidMetadataRecordError where a record
    cannot be said at that level of `metadata.version`, ValueError without records, and what `Log.append` raises.
    """
    now = now_ms() if timestamp is None else timestamp
    encoded = [Record(-1, now, None, encode(record, metadata_version)) for record in records]
    return log.append(encoded, leader_epoch=leader_epoch)


def read_metadata(
    source: Log | LogFile | str | os.PathLike[str],
    start_offset: int | None = None,
    *,
    isolation: Isolation = Isolation.LOG_END,
) -> Iterator[MetadataBatch]:
    """Read the batches from the one that holds `start_offset` on, or all: of an open log, a file or a directory.

    Of an open log, up to where `isolation` lets see; files do not say what is committed.

    A transaction's records come as they stand (`committed` takes what counts). A controller may be at work in a
    directory: a tail that grows is read again. Raises NotALogDirectoryError, OSError, InvalidMetadataRecordError and
    UnknownMetadataRecordError, and DamagedMetadataError at the first batch that is damaged or does not go on where the
    one before ended.
    """
    start = -1 if start_offset is None else start_offset
    next_offset = None
    for batch in _batches(source, start, isolation):
        if next_offset is not None and batch.base_offset != next_offset:
            raise DamagedMetadataError(
                f"the log goes on at offset {batch.base_offset:,} where {next_offset:,} should follow",
                file=batch.file,
                position=batch.position,
                offset=next_offset,
                advice=_HOLE_ADVICE.format(next_offset),
            )
        next_offset = batch.last_offset + 1
        if batch.last_offset >= start:
            yield metadata_batch(batch)


def _batches(source: Log | LogFile | str | os.PathLike[str], start: int, isolation: Isolation) -> Iterator[Batch]:
    if isinstance(source, Log):
        return _of_log(source, start, isolation)
    if isinstance(source, LogFile):
        return _of_file(source)
    path = Path(source)
    return _of_directory(path, start) if path.is_dir() else _of_growing_file(path)


def _of_log(log: Log, start: int, isolation: Isolation) -> Iterator[Batch]:
    """Read up to where `isolation` lets see; batches name the segment, and their place in what was read of it."""
    offset = max(start, log.log_start_offset)
    while view := log.read(offset, _READ_BYTES, isolation=isolation):
        segment = log.directory / file_name(FileKind.LOG, view.segment_base_offset)
        for batch in _of_file(LogFile(view.data, segment)):
            yield batch
            offset = batch.last_offset + 1


def _of_directory(path: Path, start: int) -> Iterator[Batch]:
    segments = PartitionDirectory.open(path).segments
    for segment, later in pairwise(segments):
        if later.base_offset > start:
            with segment.open_log() as log:
                yield from _of_file(log)
    for active in segments[-1:]:
        yield from _of_growing_file(active.log_path)


def _of_growing_file(path: Path) -> Iterator[Batch]:
    growing, position = TailRereader(path), 0
    while True:
        with growing.open() as log:
            try:
                for batch in _of_file(log, position):
                    yield batch
                    position = batch.position + batch.size
            except DamagedMetadataError:
                if not growing.is_worth_another_read():
                    raise
            else:
                return


def _of_file(log: LogFile, position: int = 0) -> Iterator[Batch]:
    try:
        yield from log.batches(position)
    except (TornBatchError, InvalidBatchHeaderError) as error:
        raise DamagedMetadataError(
            error.what, file=error.file, position=error.position, advice=RECOVER_ADVICE
        ) from error
