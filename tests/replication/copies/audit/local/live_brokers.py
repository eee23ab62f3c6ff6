"""Two brokers whose logs move: a leader that writes, and a follower that fetches from it.

As a program, `python -m tests.replication.copies.audit.local.live_brokers DIRECTORY WAY`, they move until standard
input ends.
"""

import random
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Self

from logstore import Log, LogConfig, LogDirectory, Record, TopicPartition
from tests.disk import Unsynced
from tests.replication.copies.audit.snapshot_roots import META

BUSY, QUIET = TopicPartition("busy", 0), TopicPartition("quiet", 0)
CONFIG: Final = LogConfig(segment_bytes=200_000, index_interval_bytes=500, retention_ms=-1, file_delete_delay_ms=0)
EVERY: Final = 0.002
"""Seconds between two moves."""


class LiveBrokers:
    """Brokers 1 and 2 with replicas of two partitions; broker 1 leads."""

    def __init__(self, directory: Path) -> None:
        self.roots = [directory / f"broker-{node}" for node in (1, 2)]
        self.directories = [self._open(node, root) for node, root in enumerate(self.roots, 1)]
        self.epoch = 0
        self._ends: dict[TopicPartition, list[int]] = {BUSY: [], QUIET: []}
        """Where the leader's batches end."""
        for partition in (BUSY, QUIET):
            for each in self.directories:
                each.create(partition)
            self.write(partition, 100)
            self.replicate(partition)

    def logs(self, partition: TopicPartition) -> list[Log]:
        return [each.log(partition) for each in self.directories]

    def write(self, partition: TopicPartition, count: int) -> None:
        leader = self.logs(partition)[0]
        value = b"%d" % leader.log_end_offset * 20
        leader.append([Record.of(value) for _ in range(count)], leader_epoch=self.epoch)
        self._ends[partition].append(leader.log_end_offset)

    def replicate(self, partition: TopicPartition) -> None:
        """Let the follower fetch all, and both note what is committed."""
        leader, follower = self.logs(partition)
        while follower.log_end_offset < leader.log_end_offset:
            follower.append_batches(leader.read(follower.log_end_offset, 1 << 20).data)
        for each in (leader, follower):
            each.update_high_watermark(follower.log_end_offset)

    def lead_anew(self, partition: TopicPartition, lost: int) -> None:
        """Begin an epoch before which both cut off so many records at least, where a batch ends, if they have them."""
        logs = self.logs(partition)
        start, end = max(log.log_start_offset for log in logs), min(log.log_end_offset for log in logs) - lost
        kept = [each for each in self._ends[partition] if each <= end]
        if not kept or kept[-1] < start:
            return
        self.epoch += 1
        self._ends[partition] = kept
        for log in logs:
            log.truncate_to(kept[-1])

    def forget(self, partition: TopicPartition, kept: int) -> None:
        """Delete old segments, but for as many records."""
        for each in self.logs(partition):
            each.delete_records(max(each.log_start_offset, each.high_watermark - kept))
            each.delete_old_segments()

    def checkpoint(self) -> None:
        for each in self.directories:
            each.checkpoint()
            each.checkpoint_high_watermarks()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.directories:
            each.abandon()

    @staticmethod
    def _open(node: int, root: Path) -> LogDirectory:
        root.mkdir(parents=True)
        (root / "meta.properties").write_text(META.format(cluster="clusterA", node=node))
        return LogDirectory.open(root, CONFIG, filesystem=Unsynced())


def grow(brokers: LiveBrokers, random: random.Random) -> None:
    """The follower lags, as followers do."""
    brokers.write(BUSY, random.randrange(1, 20))
    if random.random() < 0.3:
        brokers.replicate(BUSY)
    if random.random() < 0.05:
        brokers.checkpoint()


def cut(brokers: LiveBrokers, random: random.Random) -> None:
    """Whole pages of the active segments go, under whoever has mapped them."""
    for _ in range(20):
        brokers.write(BUSY, 50)
    brokers.lead_anew(BUSY, random.randrange(500, 2_000))
    brokers.replicate(BUSY)


def forget(brokers: LiveBrokers, random: random.Random) -> None:
    """Segments go while they are read."""
    brokers.write(BUSY, 1_000)
    brokers.replicate(BUSY)
    brokers.forget(BUSY, random.randrange(5_000, 20_000))


WAYS: Final[Mapping[str, Callable[[LiveBrokers, random.Random], None]]] = {"grow": grow, "cut": cut, "forget": forget}


def main(directory: str, way: str) -> None:
    ended = threading.Event()
    with LiveBrokers(Path(directory)) as brokers:
        chance = random.Random(1)
        for _ in range(200):
            WAYS[way](brokers, chance)
        print("ready", flush=True)  # noqa: T201  whoever has started it waits for this
        threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
        while not ended.wait(EVERY):
            WAYS[way](brokers, chance)
        brokers.write(BUSY, 1)  # which puts epochs that were cut off out of the checkpoint file
        brokers.replicate(BUSY)
        print("still", flush=True)  # noqa: T201  as above


if __name__ == "__main__":
    main(*sys.argv[1:])
