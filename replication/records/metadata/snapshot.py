"""Snapshots of the metadata: all records that make the image at one offset (KIP-630).

A snapshot is a file of batches between a header and a footer, named by the offset after the last record that it
contains, and that record's epoch: `00000000000000000312-0000000001.checkpoint`. Kafka: RecordsSnapshotWriter.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Self

from epoch.filesystem import REAL, FileSystem
from logstore.append.encoding import encode_batch
from logstore.batch.any_batch import Batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.errors import InvalidBatchHeaderError, TornBatchError
from logstore.file_name import FileFate, FileKind, parse_file_name
from logstore.offline.directory_listing import list_directory
from logstore.offline.log_file import LogFile
from replication.records.metadata.batches import ensure_sound, metadata_batch
from replication.records.metadata.control_messages import decode_control, encode_control
from replication.records.metadata.errors import DamagedMetadataError, InvalidMetadataSnapshotError, MetadataError
from replication.records.metadata.framing import encode
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import MetadataRecord
from replication.records.metadata.records.control import ControlMessage, SnapshotFooter, SnapshotHeader

_BATCH_RECORDS: Final = 1000
_ADVICE: Final = (
    "a controller cannot load this snapshot; remove it if there is a later or an earlier one: the controller then "
    "fetches what is missing from the leader"
)


@dataclass(frozen=True, slots=True)
class MetadataSnapshot:
    """A `.checkpoint` file. All methods that read it raise OSError."""

    path: Path
    end_offset: int = 0
    """What the log goes on with; 0 of a `bootstrap.checkpoint`."""
    epoch: int = 0

    @property
    def is_bootstrap(self) -> bool:
        """Whether it holds what a cluster is formatted with: a controller writes it into the log when it first leads.

        Since Kafka 4.4 it lies beside the log; before, `bootstrap.checkpoint` lay beside the directory.
        """
        return self.end_offset == 0

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> Self:
        """Create it with the offset and epoch in the file's name, if that has them."""
        name = parse_file_name(Path(path).name)
        return cls(Path(path), name.base_offset or 0, name.epoch or 0)

    @classmethod
    def latest(cls, directory: str | os.PathLike[str]) -> Self | None:
        """Find the snapshot of a directory that a controller loads: the last of `all_in`. Raises OSError."""
        return next(reversed(cls.all_in(directory)), None)

    @classmethod
    def all_in(cls, directory: str | os.PathLike[str]) -> list[Self]:
        """Find the snapshots of a directory, by epoch and end offset. Raises OSError."""
        path = Path(directory)
        names = {name: parse_file_name(name) for name in list_directory(path, root=path).files}
        snapshots = [
            cls(path / name, parsed.base_offset or 0, parsed.epoch or 0)
            for name, parsed in names.items()
            if parsed.kind is FileKind.METADATA_SNAPSHOT and parsed.fate is FileFate.LIVE
        ]
        return sorted(snapshots, key=lambda each: (each.epoch, each.end_offset))

    def records(self) -> Iterator[MetadataRecord]:
        """Read the records between header and footer.

        Raises InvalidMetadataSnapshotError where the file is damaged or no whole snapshot, which may be known only at
        its end; InvalidMetadataRecordError and UnknownMetadataRecordError.
        """
        for batch, _ in self._sound_batches():
            if not batch.is_control:
                yield from metadata_batch(batch).records

    def control_messages(self) -> Iterator[ControlMessage]:
        """Read what stands beside the records: header, footer and, since KIP-853, the voters.

        Raises what `records` raises.
        """
        for _, messages in self._sound_batches():
            yield from messages

    def _sound_batches(self) -> Iterator[tuple[Batch, list[ControlMessage]]]:
        """Give the batches with what those of control records say."""
        next_offset, ended = 0, False
        with LogFile.open(self.path) as log:
            for batch in self._batches(log):
                messages = list(map(self._message, batch.records())) if batch.is_control else []
                begins = bool(messages) and isinstance(messages[0], SnapshotHeader)
                if batch.base_offset != next_offset or begins != (next_offset == 0):
                    raise self._invalid("a snapshot cannot begin or continue like this", batch.position)
                if ended:
                    raise self._invalid("a batch follows the record that ends the snapshot", batch.position)
                next_offset = batch.last_offset + 1
                ended = any(isinstance(message, SnapshotFooter) for message in messages)
                yield batch, messages
            if not ended:
                raise self._invalid("the file ends without the record that ends a snapshot", log.size)

    def _batches(self, log: LogFile) -> Iterator[Batch]:
        try:
            for batch in log.batches():
                ensure_sound(batch)
                yield batch
        except (TornBatchError, InvalidBatchHeaderError, DamagedMetadataError) as error:
            raise self._invalid(error.what, error.position) from error

    def _message(self, record: Record) -> ControlMessage:
        try:
            message = decode_control(record)
        except MetadataError as error:
            raise error.with_position(file=self.path, position=None, offset=record.offset) from error
        if message is None:
            raise self._invalid(f"the control record at offset {record.offset} does not belong in a snapshot", None)
        return message

    def _invalid(self, what: str, position: int | None) -> InvalidMetadataSnapshotError:
        return InvalidMetadataSnapshotError(what, file=self.path, position=position, advice=_ADVICE)


def snapshot_name(end_offset: int, epoch: int) -> str:
    """Name the file of a snapshot (Kafka: Snapshots.filenameFromSnapshotId)."""
    return f"{end_offset:020d}-{epoch:010d}.checkpoint"


def write_snapshot(
    directory: Path,
    image: ClusterImage,
    *,
    end_offset: int,
    epoch: int,
    last_contained_log_timestamp: int,
    quorum: Sequence[ControlMessage] = (),
    filesystem: FileSystem = REAL,
) -> MetadataSnapshot:
    """Write a snapshot of an image, which has all that is below `end_offset`; it is written whole or not at all.

    Records are in the versions that the image's own level of `metadata.version` asks for. `quorum` is what a quorum
    whose voters may change says beside them (KRaftVersion and Voters). The timestamp is in milliseconds since 1970
    UTC. Raises InvalidMetadataRecordError and OSError.
    """
    snapshot = MetadataSnapshot(directory / snapshot_name(end_offset, epoch), end_offset, epoch)
    writer = _BatchWriter(epoch, last_contained_log_timestamp)
    header = SnapshotHeader(last_contained_log_timestamp=last_contained_log_timestamp)
    writer.write_control([header, *quorum])
    left = image.records()
    while some := list(islice(left, _BATCH_RECORDS)):
        writer.write([encode(record, image.metadata_version) for record in some])
    writer.write_control([SnapshotFooter()])
    filesystem.write_atomically(snapshot.path, bytes(writer.data))
    return snapshot


class _BatchWriter:
    """Puts batches one after the other, with offsets from 0 on."""

    def __init__(self, epoch: int, timestamp: int) -> None:
        self.data = bytearray()
        self._epoch = epoch
        self._timestamp = timestamp
        self._next_offset = 0

    def write(self, values: Sequence[bytes]) -> None:
        self._append([Record(-1, self._timestamp, None, value) for value in values], is_control=False)

    def write_control(self, messages: Sequence[ControlMessage]) -> None:
        self._append([encode_control(message, self._timestamp) for message in messages], is_control=True)

    def _append(self, records: Sequence[Record], *, is_control: bool) -> None:
        template = BatchTemplate(base_offset=self._next_offset, leader_epoch=self._epoch, is_control=is_control)
        self.data += encode_batch(records, template)
        self._next_offset += len(records)
