"""Partition directories made of batches that a test describes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from epoch.checkpoint import format_checkpoint
from tests.logstore.batches import batch, record


@dataclass(frozen=True)
class ABatch:
    """Records at consecutive offsets, written under one leader epoch; `branch` makes equal offsets differ in bytes."""

    base_offset: int
    count: int
    epoch: int
    branch: str = ""

    @property
    def end(self) -> int:
        return self.base_offset + self.count

    def encoded(self) -> bytes:
        records = [record(offset_delta=n, value=f"{self.branch}{self.epoch}".encode()) for n in range(self.count)]
        return batch(records=records, base_offset=self.base_offset, leader_epoch=self.epoch)


def write_partition(
    directory: Path,
    batches: Sequence[ABatch],
    epochs: Sequence[tuple[int, int]],
    *,
    start: int = 0,
    segment_batches: int = 4,
    high_watermark: int | None = None,
    name: str = "t-0",
) -> Path:
    """Write segments of a few batches each, and the epoch checkpoint; return the partition's directory."""
    partition = directory / name
    partition.mkdir(parents=True)
    for first in range(0, max(len(batches), 1), segment_batches):
        segment = batches[first : first + segment_batches]
        base = segment[0].base_offset if segment else start
        content = b"".join(each.encoded() for each in segment)
        (partition / f"{base:020d}.log").write_bytes(content)
    (partition / "leader-epoch-checkpoint").write_bytes(format_checkpoint(epochs))
    if high_watermark is not None:
        topic, number = name.rsplit("-", 1)
        checkpoint = format_checkpoint([(topic, number, high_watermark)])
        (directory / "replication-offset-checkpoint").write_bytes(checkpoint)
    return partition
