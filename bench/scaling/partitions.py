"""Many partitions, from 1 to 100,000."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final
from uuid import UUID

import numpy as np

from bench.bench_controller import LONG_AFTER, controller_of
from bench.bench_fetcher import REPLICA, answered, exchange, fetch_answered, following, idle, waits
from bench.bench_metadata import cluster
from bench.scaling.curve import WORK, Curve, Sample
from epoch import EpochHistory
from epoch.bulk import EpochTable
from logstore import LogDirectory, Record, TopicPartition
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from logstore.files.offset_checkpoint import RECOVERY_POINT_CHECKPOINT, OffsetCheckpoint
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from replication.records.metadata.framing import decode, encode
from replication.records.metadata.image import ClusterImage
from replication.wire.encoding.kio_messages import write
from replication.wire.messages.fetch import FetchRequest

SCALES: Final = (1, 10, 100, 1_000, 10_000, 100_000)
QUICK: Final = (1, 30)
DISK_OF_A_PARTITION: Final = 32 << 10
"""Its directory, and a block of the file system for each small file."""
TOPIC: Final = "topic"
EPOCHS: Final = 10
RECORDS: Final = 3
CALLS: Final = 1_000
"""Of what takes microseconds."""


def root_of(count: int) -> Path:
    """Make a root of so many partitions, each with one batch, as it is after a clean stop.

    All but the first are copies: to write and close each would sync twice as many files.
    """
    root = WORK / "root"
    with LogDirectory.open(root) as directory:
        log = directory.create(TopicPartition(TOPIC, 0), topic_id=UUID(int=1))
        log.append([Record.of(b"value" * 20)] * RECORDS, leader_epoch=0)
    for number in range(1, count):
        copy = root / f"{TOPIC}-{number}"
        shutil.copytree(root / f"{TOPIC}-0", copy, copy_function=shutil.copyfile)
        (copy / PARTITION_METADATA_NAME).write_bytes(PartitionMetadata(UUID(int=number + 1)).encode())
    ends = {TopicPartition(TOPIC, number): RECORDS for number in range(count)}
    OffsetCheckpoint(ends).write(root / RECOVERY_POINT_CHECKPOINT)
    return root


def opening(count: int) -> Iterator[Sample]:
    """After a clean stop."""
    root = root_of(count)
    opened: list[LogDirectory] = []

    def leave() -> None:
        """Stop, with all files as they were."""
        while opened:
            opened.pop().abandon()
        CleanShutdown().write(root / CLEAN_SHUTDOWN_NAME)

    def open_root() -> None:
        opened.append(LogDirectory.open(root))

    yield Sample(open_root, items=count, before=leave)
    assert len(opened[-1].partitions) == count
    assert all(opened[-1].log(partition).report.recovered_segments == 0 for partition in opened[-1].partitions)
    leave()


@contextmanager
def opened_root(count: int) -> Iterator[LogDirectory]:
    """Open the root that was made."""
    directory = LogDirectory.open(WORK / "root")
    assert len(directory.partitions) >= count
    yield directory
    directory.abandon()
    CleanShutdown().write(WORK / "root" / CLEAN_SHUTDOWN_NAME)


def answering(count: int) -> Iterator[Sample]:
    """Where an epoch of each partition ends: OffsetForLeaderEpoch, without the messages."""
    table = EpochTable([EpochHistory((2 * epoch, 100 * epoch) for epoch in range(EPOCHS))] * count)
    partitions = np.arange(count)
    epochs = np.random.default_rng(count).integers(0, 2 * EPOCHS, count)

    def answer() -> None:
        for _ in range(max(CALLS // count, 1)):
            table.end_offsets_for(partitions, epochs, partitions + 1_000)

    yield Sample(answer, items=max(CALLS // count, 1) * count)


def replaying(count: int) -> Iterator[Sample]:
    """From the bytes of its records to the image of a cluster; each partition has changed once."""
    values = [encode(record) for record in cluster(count)]
    yield Sample(lambda: ClusterImage().replay_all(map(decode, values)), items=count)


def image_of(count: int) -> ClusterImage:
    """An image of so many partitions."""
    image = ClusterImage()
    image.replay_all(decode(encode(record)) for record in cluster(count))
    return image


def deciding(count: int) -> Iterator[Sample]:
    """A broker that leads all partitions is gone: decided, and encoded as records."""
    controllers = []

    def decide() -> None:
        decision = controllers[-1].fence_one_stale_broker(LONG_AFTER)
        assert len([encode(record) for record in decision.records]) == count + 1

    yield Sample(decide, items=count, before=lambda: controllers.append(controller_of(count)))


def beginning(count: int) -> Iterator[Sample]:
    """A fetch session begins: all partitions are named, and answered."""
    body = write(fetch_answered(count))
    ready = []

    def begin() -> None:
        answered(*ready.pop(), body, 0)

    yield Sample(begin, items=count, before=lambda: ready.append((following(count, REPLICA)[0], exchange())))


def idling(count: int) -> Iterator[Sample]:
    """A fetch in a session in which nothing happens."""
    fetcher, made = idle(count)
    nothing, now = write(fetch_answered(0)), waits()

    def go_round() -> None:
        for _ in range(CALLS):
            request = answered(fetcher, made, nothing, next(now))
            assert isinstance(request, FetchRequest)
            assert not request.partitions

    yield Sample(go_round, items=CALLS)


CURVES: Final = (
    Curve(
        "open a directory of logs",
        SCALES,
        QUICK,
        opening,
        "partitions",
        disk=lambda count: count * DISK_OF_A_PARTITION,
        weighed=opened_root,
        rounds=3,
    ),
    Curve("answer for the epochs of many partitions", SCALES, QUICK, answering, "partitions"),
    Curve(
        "replay a cluster's metadata",
        SCALES,
        QUICK,
        replaying,
        "partitions",
        weighed=lambda count: nullcontext(image_of(count)),
        rounds=3,
    ),
    Curve(
        "elect after a broker's end",
        SCALES,
        QUICK,
        deciding,
        "partitions",
        weighed=lambda count: nullcontext(controller_of(count)),
        rounds=3,
    ),
    Curve(
        "begin a fetch session",
        SCALES,
        QUICK,
        beginning,
        "partitions",
        weighed=lambda count: nullcontext(idle(count)),
        rounds=3,
    ),
    Curve("fetch without news", SCALES, QUICK, idling, "fetches"),
)
