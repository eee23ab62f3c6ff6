"""Logs of which it is known how they differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import crc32c

from logstore import Log, LogConfig, Record
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.layout import CRC_AT, CRC_START
from logstore.offline.partition_directory import PartitionDirectory
from replication.copies.audit.comparison.examined_copy import ExaminedCopy
from replication.copies.audit.examination.examination import examine
from tests.disk import Unsynced
from tests.replication.copies.audit.copies import copy_of


@dataclass(frozen=True)
class Written:
    """One batch that a leader wrote: as many records, under its epoch; `branch` makes equal offsets differ."""

    epoch: int
    count: int
    branch: str = ""
    codec: Codec = Codec.NONE
    timestamp: int = 1_000


@dataclass(frozen=True)
class Copy:
    """What one replica has, and how it keeps it."""

    batches: tuple[Written, ...]
    segment_bytes: int = 1_000
    start: int = 0
    """The number of the batch with which the log begins by now."""

    @property
    def start_offset(self) -> int:
        return sum(batch.count for batch in self.batches[: self.start])

    def write(self, root: Path) -> PartitionDirectory:
        """Write the log as a broker would, and stop in order."""
        root.mkdir(parents=True, exist_ok=True)
        partition = root / "t-0"
        config = LogConfig(segment_bytes=self.segment_bytes, index_interval_bytes=200, retention_ms=-1)
        with Log.open(partition, config, filesystem=Unsynced()) as log:
            offset = 0
            for batch in self.batches:
                values = [f"{batch.branch}{offset + n}" for n in range(batch.count)]
                records = [Record.of(value.encode(), value.encode(), timestamp=batch.timestamp) for value in values]
                log.append(records, leader_epoch=batch.epoch, template=BatchTemplate(codec=batch.codec))
                offset += batch.count
            log.update_high_watermark(offset)
            if self.start:
                log.delete_records(self.start_offset)
                log.delete_old_segments()
        return PartitionDirectory.open(partition)


def write_copies(root: Path, copies: Sequence[Copy]) -> dict[str, PartitionDirectory]:
    return {f"broker-{n}": copy.write(root / f"broker-{n}") for n, copy in enumerate(copies, 1)}


def examined(partitions: dict[str, PartitionDirectory]) -> list[ExaminedCopy]:
    return [copy_of(partition, examine(partition, replica)) for replica, partition in partitions.items()]


def change_record(partition: PartitionDirectory, offset: int) -> None:
    """Change a byte of the uncompressed batch with this base offset, and its checksum to match."""
    for segment in partition.segments:
        with segment.open_log() as log:
            found = [(batch.position, batch.size) for batch in log.batches() if batch.base_offset == offset]
        for position, size in found:
            data = bytearray(segment.log_path.read_bytes())
            data[position + size - 2] ^= 1  # the value's last byte: the count of headers follows it
            checksum = crc32c.crc32c(data[position + CRC_START : position + size])
            data[position + CRC_AT : position + CRC_START] = checksum.to_bytes(4)
            segment.log_path.write_bytes(data)
