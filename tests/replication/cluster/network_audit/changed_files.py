"""Changes to the files of a replica whose broker is stopped, such that the broker does not see them when it starts."""

import crc32c

from logstore.batch.layout import CRC_AT, CRC_START, LEADER_EPOCH_AT
from logstore.offline.partition_directory import PartitionDirectory


def cut_out(partition: PartitionDirectory, first: int, last: int) -> None:
    """Remove the batches whose base offsets are from `first` to `last`, and the indexes, which brokers make anew."""
    for segment in partition.segments:
        data = segment.log_path.read_bytes()
        with segment.open_log() as log:
            kept = [each for each in log.batches() if not first <= each.base_offset <= last]
        segment.log_path.write_bytes(b"".join(data[each.position : each.position + each.size] for each in kept))
        for path in segment.files.values():
            if path != segment.log_path:
                path.unlink()


def fork_from(partition: PartitionDirectory, offset: int, leader_epoch: int) -> None:
    """Give all batches from an offset on other records and another leader epoch, with checksums to match."""
    for segment in partition.segments:
        data = bytearray(segment.log_path.read_bytes())
        with segment.open_log() as log:
            changed = [(each.position, each.size) for each in log.batches() if each.base_offset >= offset]
        for position, size in changed:
            data[position + LEADER_EPOCH_AT : position + LEADER_EPOCH_AT + 4] = leader_epoch.to_bytes(4)
            data[position + size - 2] ^= 1  # the last value's last byte: the count of headers follows it
            checksum = crc32c.crc32c(data[position + CRC_START : position + size])
            data[position + CRC_AT : position + CRC_START] = checksum.to_bytes(4)
        segment.log_path.write_bytes(data)
