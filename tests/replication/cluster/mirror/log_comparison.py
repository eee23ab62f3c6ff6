"""Whether a copy's log is its leader's, byte for byte; both may be open in other processes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from epoch import EpochHistory
from epoch.checkpoint import LeaderEpochCheckpoint
from logstore.batch.batches import read_batches
from logstore.errors import LogStoreError
from logstore.offline.partition_directory import PartitionDirectory


@dataclass(frozen=True)
class WrittenLog:
    """What the `.log` files and the leader-epoch checkpoint of a partition hold."""

    batches: tuple[tuple[int, int, bytes], ...]
    """First and last offset, and all bytes."""
    history: EpochHistory

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the whole batches that are there now."""
        opened = PartitionDirectory.open(path)
        batches = []
        for segment in opened.segments:
            data = memoryview(segment.log_path.read_bytes())
            try:
                for batch in read_batches(data):
                    found = bytes(data[batch.position : batch.position + batch.size])
                    batches.append((batch.base_offset, batch.last_offset, found))
            except LogStoreError:
                continue  # the tail is just being written
        return cls(tuple(batches), EpochHistory(LeaderEpochCheckpoint(path).read()))

    @property
    def start(self) -> int:
        return self.batches[0][0] if self.batches else 0

    @property
    def end(self) -> int:
        return self.batches[-1][1] + 1 if self.batches else 0

    def between(self, start: int, end: int) -> bytes:
        return b"".join(data for first, last, data in self.batches if first >= start and last < end)

    def epochs_between(self, start: int, end: int) -> EpochHistory:
        return self.history.truncate_to(end).truncate_from_start(start)


def differences(copy: Path, leader: Path) -> list[str]:
    """Compare from the larger start to the smaller end: segments may be cut differently, batches may not differ."""
    ours, theirs = WrittenLog.read(copy), WrittenLog.read(leader)
    start, end = max(ours.start, theirs.start), min(ours.end, theirs.end)
    found = []
    if ours.between(start, end) != theirs.between(start, end):
        found.append(f"{copy.name}: other bytes between {start} and {end}")
    if ours.epochs_between(start, end) != theirs.epochs_between(start, end):
        found.append(f"{copy.name}: epochs {list(ours.history.entries)} and {list(theirs.history.entries)}")
    return found
