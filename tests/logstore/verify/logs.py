"""What verify says of partitions that a test writes."""

from pathlib import Path

from epoch.checkpoint import format_checkpoint
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import Finding, verify_partition
from tests.logstore.batches import CONTROL, TRANSACTIONAL, batch, record

COMPACTED = "__consumer_offsets-3"
COMMIT, ABORT = b"\0\0\0\1", b"\0\0\0\0"


def findings(directory: Path, *, records: bool = False) -> list[Finding]:
    """All but that the indexes are missing: these logs are written without, as Kafka never has them."""
    found = verify_partition(PartitionDirectory.open(directory), records=records)
    return [finding for finding in found if finding.kind != "index-missing"]


def kinds(directory: Path, *, records: bool = False) -> list[str]:
    return [finding.kind for finding in findings(directory, records=records)]


def stop_cleanly(root: Path) -> None:
    (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":7}')


def write_log(root: Path, segments: dict[int, list[bytes]], *, name: str = "t-0") -> Path:
    """Write batches to segments, by base offset, all of leader epoch 0."""
    directory = root / name
    directory.mkdir()
    for base, batches in segments.items():
        (directory / f"{base:020d}.log").write_bytes(b"".join(batches))
    (directory / "leader-epoch-checkpoint").write_bytes(format_checkpoint([(0, min(segments))]))
    return directory


def transactional(producer: int, base_offset: int, count: int = 1) -> bytes:
    """A batch of a transaction's records, without sequence numbers as a group coordinator's are."""
    return batch(
        records=[record(offset_delta=delta) for delta in range(count)],
        base_offset=base_offset,
        attributes=TRANSACTIONAL,
        producer_id=producer,
        producer_epoch=0,
    )


def marker(producer: int, offset: int, key: bytes = ABORT) -> bytes:
    """A batch that ends a transaction."""
    return batch(
        records=[record(key=key, value=bytes(6))],
        base_offset=offset,
        attributes=TRANSACTIONAL | CONTROL,
        producer_id=producer,
        producer_epoch=0,
    )


def thinned(base_offset: int, spans: int = 10, *, crc: int | None = None, leader_epoch: int = 0) -> bytes:
    """A batch with fewer records than offsets, as the cleaner leaves it."""
    records = [record(offset_delta=spans - 1)]
    return batch(
        records=records, base_offset=base_offset, last_offset_delta=spans - 1, crc=crc, leader_epoch=leader_epoch
    )
