"""What the salvaged records of one partition ask of the topic that takes them."""

from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

from logstore.topic_partition import TopicPartition
from replication.copies.salvage.cluster.batch_sizes import batch_sizes
from replication.copies.salvage.columns.salvaged_block import SalvagedBlock
from replication.copies.salvage.held.provenance import earlier_places

SourceTransaction = tuple[int, int]
"""A producer's id, and the offset of the transaction's first record."""


@dataclass(slots=True)
class Needs:
    """Gathered block by block, before the first record is written."""

    partition: TopicPartition
    is_compacted: bool = False
    """Whether only the last value of each key counts there."""
    records: int = 0
    largest: int = 0
    """Bytes of a batch that has only the largest record, with the header that is added to it."""
    largest_offset: int = -1
    oldest: int | None = None
    """Timestamps, in milliseconds since 1970 UTC, of those that have one."""
    newest: int | None = None
    timeless: int = 0
    """Records without a timestamp, as before Kafka 0.10."""
    keyless: int = 0
    at_zero: int = 0
    """Records of the time 0, for which the client puts that of sending."""
    were_salvaged: bool = False
    """Whether some were salvaged and lost once before."""
    last_of: dict[SourceTransaction, int] = field(default_factory=dict)
    """Which of the records, counted from 1, is the last one of a transaction of their producer."""
    blocks: list[int] = field(default_factory=list)
    """What distinguishes each block from others: they come again when they are written."""

    @property
    def since(self) -> int | None:
        """The time before which none of the records is; None if that is not known of all of them."""
        return None if self.timeless else self.oldest

    def take(self, block: SalvagedBlock, cluster_id: str | None) -> None:
        """Add some more records, of copies of that cluster."""
        sizes = batch_sizes(block, cluster_id)
        row = int(sizes.argmax())
        if sizes[row] > self.largest:
            self.largest, self.largest_offset = int(sizes[row]), int(block.records.offset[row])
        self._take_times(block)
        self.keyless += int(np.count_nonzero(block.records.key_length < 0))
        if block.records.header_count.any() and not self.were_salvaged:
            self.were_salvaged = any(any(earlier_places(each, self.partition)) for each in block.headers())
        if (block.transactions >= 0).any():
            producers = block.of_batch(block.batches.producer_id).tolist()
            transactions = block.of_batch(block.transactions).tolist()
            numbers = range(self.records + 1, self.records + len(block) + 1)
            self.last_of.update(zip(zip(producers, transactions, strict=True), numbers, strict=True))
        self.records += len(block)
        self.blocks.append(identity(block))

    def _take_times(self, block: SalvagedBlock) -> None:
        times = block.records.timestamp[block.records.timestamp >= 0]
        self.timeless += len(block) - len(times)
        self.at_zero += int(np.count_nonzero(times == 0))
        if len(times):
            first, last = int(times.min()), int(times.max())
            self.oldest = first if self.oldest is None else min(self.oldest, first)
            self.newest = last if self.newest is None else max(self.newest, last)


def identity(block: SalvagedBlock) -> int:
    """Return a number that is the same for the same records, found in the same places."""
    columns = block.records.offset, block.of_batch(block.batches.leader_epoch), block.of_batch(block.transactions)
    found = crc32(block.source.encode())
    for column in columns:
        found = crc32(column.tobytes(), found)
    return found
