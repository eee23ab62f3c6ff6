"""Copies of a made-up cluster for the audit: three brokers, defects planted where they are known.

    python -m bench.audit_cluster DIRECTORY [--gib 4] [--partitions 200]

writes DIRECTORY/broker-1 to broker-3. The logs are written with the library's own Log, batch by batch as brokers do,
so that whatever the audit finds beyond PLANTED is a false alarm.
"""

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

import crc32c

from bench.replica import RECORDS, one_batch
from logstore import Log, LogConfig, LogDirectory, TopicPartition
from logstore.batch.layout import CRC_AT, CRC_START, HEADER_SIZE
from replication.base.errors import JavaMissingError
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.spark.sessions.java import find_java
from tests.made_once import only_maker

PARTITIONS_A_TOPIC: Final = 10
REPLICAS: Final = 3
SEGMENTS_A_PARTITION: Final = 3
EPOCHS: Final = ((0, 0.0), (1, 0.4), (4, 0.8))
"""Leader epochs, and at which part of the log each begins."""
BATCHES_A_CALL: Final = 4
MOST_MILLISECONDS: Final = 2**63 - 1
CLUSTER_ID: Final = "MkU3OEVBNTcwNTJENDM2Qg"


class Defect(NamedTuple):
    """What is wrong with one partition of one replica, and what the audit has to say of it."""

    name: str
    partition: TopicPartition
    replica: int
    verdict: Verdict
    finding: str | None
    """The kind of the error that names the replica; None where there is none."""
    plant: Callable[[Path, Log | None], None]
    """Is given the partition's directory, and the log where it is needed open."""
    needs_log: bool = False


def partition(number: int) -> TopicPartition:
    """Name one of the partitions."""
    return TopicPartition(f"topic-{number // PARTITIONS_A_TOPIC:02d}", number % PARTITIONS_A_TOPIC)


def topic_id(number: int) -> UUID:
    """Return the id of such a partition's topic: a broker with KRaft takes logs without one for stray."""
    return UUID(int=1_000 + number // PARTITIONS_A_TOPIC)


def fork(_directory: Path, log: Log | None) -> None:
    """Go back a quarter, and let another leader write other batches."""
    assert log is not None
    cut = log.log_end_offset * 3 // 4 // RECORDS * RECORDS
    log.truncate_to(cut)
    append(log, cut, 5, 7)


def lag(_directory: Path, log: Log | None) -> None:
    """Lack the last batches."""
    assert log is not None
    log.truncate_to(log.log_end_offset - 9 * RECORDS)


def forget(_directory: Path, log: Log | None) -> None:
    """Delete the oldest segment, as retention does."""
    assert log is not None
    log.update_high_watermark(log.log_end_offset)
    log.delete_records(log.segments[1].base_offset)
    log.delete_old_segments()


def flip(directory: Path, _log: Log | None) -> None:
    """Change a byte in the middle of a batch, as a bad disk does."""
    change(directory, lambda batch: batch.__setitem__(HEADER_SIZE + 500, batch[HEADER_SIZE + 500] ^ 0x20))


def diverge(directory: Path, _log: Log | None) -> None:
    """Change a byte and put the checksum right: nothing on this replica shows it."""

    def change_silently(batch: bytearray) -> None:
        batch[HEADER_SIZE + 500] ^= 0x20
        batch[CRC_AT:CRC_START] = crc32c.crc32c(batch[CRC_START:]).to_bytes(4)

    change(directory, change_silently)


def change(directory: Path, edit: Callable[[bytearray], None]) -> None:
    """Edit one batch of the second segment."""
    path = sorted(directory.glob("*.log"))[1]
    size = len(one_batch())
    with open(path, "r+b") as file:
        file.seek(3 * size)
        batch = bytearray(file.read(size))
        edit(batch)
        file.seek(3 * size)
        file.write(batch)


def remove(directory: Path, _log: Log | None) -> None:
    """Lose the whole partition."""
    shutil.rmtree(directory)


def lose_segment(directory: Path, _log: Log | None) -> None:
    """Lose a segment in the middle."""
    log = sorted(directory.glob("*.log"))[1]
    for path in directory.glob(f"{log.stem}.*"):
        path.unlink()


def misplace(directory: Path, _log: Log | None) -> None:
    """Make an index entry point into the middle of a batch."""
    path = min(directory.glob("*.index"))
    content = bytearray(path.read_bytes())
    content[8 * 5 + 7] ^= 1
    path.write_bytes(content)


def rewrite_history(directory: Path, _log: Log | None) -> None:
    """Make the checkpoint say that the second epoch began where it did not."""
    path = directory / "leader-epoch-checkpoint"
    lines = path.read_text().splitlines()
    epoch, start = map(int, lines[3].split())
    lines[3] = f"{epoch} {start + RECORDS}"
    path.write_text("\n".join(lines) + "\n")


PLANTED: Final = (
    Defect("fork", partition(1), 2, Verdict.FORKED, None, fork, needs_log=True),
    Defect("another fork", partition(3), 3, Verdict.FORKED, None, fork, needs_log=True),
    Defect("lag", partition(5), 3, Verdict.LAGGING, None, lag, needs_log=True),
    Defect("retention", partition(7), 1, Verdict.RETENTION, None, forget, needs_log=True),
    Defect("bad disk", partition(9), 2, Verdict.DAMAGED, "corrupt-batch", flip),
    Defect("silent divergence", partition(11), 3, Verdict.SILENT_DIVERGENCE, "silent-divergence", diverge),
    Defect("lost partition", partition(13), 1, Verdict.MISSING, None, remove),
    Defect("lost segment", partition(15), 2, Verdict.DAMAGED, "missing-segment", lose_segment),
    Defect("bad index", partition(17), 3, Verdict.DAMAGED, "index-entry-wrong", misplace),
    Defect("wrong history", partition(19), 1, Verdict.DAMAGED, "epoch-start-differs", rewrite_history),
)


def without_java() -> str:
    """Return why no cluster can be audited; nothing where it can."""
    try:
        find_java()
    except JavaMissingError as missing:
        return str(missing)
    return ""


def make(directory: Path, size: int, partitions: int) -> list[Path]:
    """Write the copies unless they are there, each of about `size` bytes. Returns their roots."""
    return _make(directory, size // partitions // len(one_batch()), partitions, _plant)


def make_sound(directory: Path, batches: int, partitions: int) -> list[Path]:
    """Write copies with nothing wrong in them; each partition has so many batches."""
    return _make(directory, batches, partitions, lambda _root, _batches: None)


def _make(directory: Path, batches: int, partitions: int, plant: Callable[[Path, int], None]) -> list[Path]:
    roots = [directory / f"broker-{number}" for number in range(1, REPLICAS + 1)]
    with only_maker(directory):
        if not directory.exists():
            partial = directory.with_name(directory.name + ".partial")
            shutil.rmtree(partial, ignore_errors=True)
            for root in roots:
                _write(partial / root.name, batches, partitions)
                plant(partial / root.name, batches)
            partial.rename(directory)
    return roots


def config(batches: int) -> LogConfig:
    """Parts a log of so many batches into segments, and never deletes by age."""
    return LogConfig(
        segment_bytes=max(batches // SEGMENTS_A_PARTITION, 1) * len(one_batch()),
        retention_ms=-1,
        file_delete_delay_ms=0,
        message_timestamp_after_max_ms=MOST_MILLISECONDS,
    )


def _write(root: Path, batches: int, partitions: int) -> None:
    root.mkdir(parents=True)
    number = root.name.removeprefix("broker-")
    (root / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER_ID}\nnode.id={number}\n")
    with LogDirectory.open(root, config(batches), replicated=True) as directory:
        for each in range(partitions):
            log = directory.create(partition(each), topic_id=topic_id(each))
            for (epoch, part), (_, end) in zip(EPOCHS, (*EPOCHS[1:], (0, 1.0)), strict=True):
                first, last = int(part * batches), int(end * batches)
                append(log, first * RECORDS, epoch, last - first)
            log.update_high_watermark(log.log_end_offset)


def append(log: Log, offset: int, epoch: int, batches: int) -> None:
    """Append as a follower: base offset and epoch are not under the checksum."""
    content = one_batch()
    while batches:
        part = min(batches, BATCHES_A_CALL)
        data = b"".join(
            (offset + number * RECORDS).to_bytes(8) + content[8:12] + epoch.to_bytes(4) + content[16:]
            for number in range(part)
        )
        log.append_batches(data)
        offset += part * RECORDS
        batches -= part


def _plant(root: Path, batches: int) -> None:
    here = [defect for defect in PLANTED if root.name == f"broker-{defect.replica}"]
    with LogDirectory.open(root, config(batches), replicated=True) as directory:
        for defect in here:
            if defect.needs_log:
                defect.plant(root / str(defect.partition), directory.log(defect.partition))
    for defect in here:
        if not defect.needs_log:
            defect.plant(root / str(defect.partition), None)


def main() -> None:
    """Run the command line above."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("directory", type=Path)
    arguments.add_argument("--gib", type=float, default=4)
    arguments.add_argument("--partitions", type=int, default=200)
    given = arguments.parse_args()
    for root in make(given.directory, int(given.gib * 2**30), given.partitions):
        print(root)


if __name__ == "__main__":
    main()
