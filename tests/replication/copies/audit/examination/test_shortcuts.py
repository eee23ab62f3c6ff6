"""What is known of batches and indexes at once hides nothing that a look at each of them finds."""

import random
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import crc32c
import pytest

from logstore.batch import layout
from logstore.batch.columns import BatchColumns
from logstore.kernels import column_scan
from logstore.offline.batch_scan import PLAIN_BUDGET, PlainBudget
from logstore.verify import index_check
from logstore.verify.batch_totals import BatchTotals
from replication.copies.audit.examination.examination import Examination, examine
from tests.campaign import Campaign
from tests.logstore.verify.test_fuzz_verify import EXTREMES, add_junk, damage, sources
from tests.replication.copies.audit.test_fuzz_audit import open_partition

CAMPAIGN = Campaign("audit: damaged copies, batch by batch", full=5_000, share=80)
FIELDS = {
    "base_offset": (0, layout.LENGTH_AT),
    "leader_epoch": (layout.LEADER_EPOCH_AT, layout.MAGIC_AT),
    "attributes": (layout.ATTRIBUTES_AT, layout.LAST_OFFSET_DELTA_AT),
    "last_offset_delta": (layout.LAST_OFFSET_DELTA_AT, layout.BASE_TIMESTAMP_AT),
    "base_timestamp": (layout.BASE_TIMESTAMP_AT, layout.MAX_TIMESTAMP_AT),
    "max_timestamp": (layout.MAX_TIMESTAMP_AT, layout.PRODUCER_ID_AT),
    "producer_id": (layout.PRODUCER_ID_AT, layout.PRODUCER_EPOCH_AT),
    "producer_epoch": (layout.PRODUCER_EPOCH_AT, layout.BASE_SEQUENCE_AT),
    "base_sequence": (layout.BASE_SEQUENCE_AT, layout.RECORD_COUNT_AT),
    "record_count": (layout.RECORD_COUNT_AT, layout.HEADER_SIZE),
}
"""Where each begins in a batch, and where it ends."""
SLOTS = {".index": 8, ".timeindex": 12, ".txnindex": 34}

Alter = Callable[[random.Random, Path], None]


@pytest.fixture(autouse=True)
def _kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PLAIN_BUDGET, "batches_left", 0)


def build(chance: random.Random, root: Path) -> Path:
    """Copy a partition, with some of its root's checkpoints, and alter what shortcuts go by."""
    source = chance.choice(sources())
    partition = root / source.name
    shutil.copytree(source, partition)
    for checkpoint in sorted(source.parent.glob("*checkpoint*")):
        if chance.random() < 0.7:
            shutil.copy(checkpoint, root)
    if chance.random() < 0.3:
        (root / ".kafka_cleanshutdown").touch()
    for _ in range(chance.choice((0, 1, 1, 2))):
        alter: Alter = chance.choice((alter_batches, alter_batches, alter_index, alter_index, alter_bytes))
        alter(chance, partition)
    return partition


def alter_batches(chance: random.Random, partition: Path) -> None:
    """Change fields of headers, mostly with a checksum that matches, or leave batches out, double and exchange them."""
    log = chance.choice([path for path in sorted(partition.glob("*.log")) if path.stat().st_size])
    data = log.read_bytes()
    batches = [bytearray(data[start:end]) for start, end in pairwise(positions(data))]
    for _ in range(chance.choice((1, 1, 3)) if batches else 0):
        row = chance.randrange(len(batches))
        match chance.randrange(6):
            case 0:
                batches.insert(row, batches[row])
            case 1 if len(batches) > 1:
                del batches[row]
            case _:
                alter_header(chance, batches[row])
    log.write_bytes(b"".join(batches))


def positions(data: bytes) -> list[int]:
    """Where the batches of a sound log begin, and where the last one ends."""
    found = [0]
    while len(data) - found[-1] >= layout.HEADER_SIZE:
        length = int.from_bytes(data[found[-1] + layout.LENGTH_AT :][:4], signed=True)
        if not layout.SMALLEST_LENGTH <= length <= len(data) - found[-1] - layout.LOG_OVERHEAD:
            break
        found.append(found[-1] + layout.LOG_OVERHEAD + length)
    return found


def alter_header(chance: random.Random, batch: bytearray) -> None:
    start, end = chance.choice(list(FIELDS.values()))
    value = int.from_bytes(batch[start:end], signed=True)
    value = chance.choice((value - 1, value + 1, value + 5, -1, 0, 1, chance.choice(EXTREMES)))
    batch[start:end] = (value % (1 << 8 * (end - start))).to_bytes(end - start)
    if chance.random() < 0.8:
        crc = crc32c.crc32c(bytes(batch[layout.CRC_START :]))
        batch[layout.CRC_AT : layout.CRC_START] = crc.to_bytes(4)


def alter_index(chance: random.Random, partition: Path) -> None:
    """Change entries of an index by little or by much, leave them out, double and exchange them, or add free slots."""
    index = chance.choice([path for path in sorted(partition.iterdir()) if path.suffix in SLOTS])
    size = SLOTS[index.suffix]
    data = index.read_bytes()
    slots = [bytearray(data[at : at + size]) for at in range(0, len(data), size)] or [bytearray(size)]
    row, other = chance.randrange(len(slots)), chance.randrange(len(slots))
    match chance.randrange(6):
        case 0:
            slots[row][-1 - chance.randrange(min(4, len(slots[row])))] ^= 1 << chance.randrange(8)
        case 1:
            del slots[row]
        case 2:
            slots.insert(other, slots[row])
        case 3:
            slots[row], slots[other] = slots[other], slots[row]
        case 4:
            slots.append(bytearray(chance.choice((1, size, 2 * size))))
        case _:
            slots[row] = bytearray(
                chance.choice((b"\x7f" + b"\xff" * (size - 1), b"\x80" + bytes(size - 1), bytes(size)))
            )
    index.write_bytes(b"".join(slots))


def alter_bytes(chance: random.Random, partition: Path) -> None:
    chance.choice((damage, add_junk))(chance, chance.choice(sorted(partition.iterdir())))


def examined(partition: Path) -> Examination | None:
    directory = open_partition(partition)
    return examine(directory, "broker-1") if directory else None


def examined_batch_by_batch(partition: Path) -> Examination | None:
    """Examine a copy in which any batch may be odd in any way, and any entry wrong, as far as anybody knows."""

    def know_little(cls: type[BatchTotals], columns: BatchColumns) -> BatchTotals:
        return cls.in_plain_numpy(columns)._replace(
            breaks=1, epoch_changes=1, without_epoch=1, contradictory=1, with_producer=1, transactional=1
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BatchTotals, "of", classmethod(know_little))
        patch.setattr(index_check, "PLAIN_BUDGET", PlainBudget())
        return examined(partition)


def test_a_sound_copy_is_examined_alike(tmp_path: Path) -> None:
    for source in sources():
        copied = tmp_path / "broker-1" / source.name
        shutil.copytree(source, copied)
        examination = examined(copied)
        assert examination is not None
        assert examination == examined_batch_by_batch(copied)


def test_nothing_is_hidden_whatever_the_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = 0
    for number in range(CAMPAIGN.count):
        chance = random.Random(f"{CAMPAIGN.seed}-{number}")
        root = tmp_path / f"{number}" / "broker-1"
        root.mkdir(parents=True)
        partition = build(chance, root)
        monkeypatch.setitem(column_scan.scan.__kwdefaults__, "capacity", chance.choice((1, 2, 5, column_scan.CAPACITY)))
        at_once, batch_by_batch = examined(partition), examined_batch_by_batch(partition)
        assert at_once == batch_by_batch, f"input {number} of seed {CAMPAIGN.seed}"
        found += len(at_once.findings) if at_once else 0
        shutil.rmtree(tmp_path / f"{number}")
    assert found > CAMPAIGN.count // 4
    CAMPAIGN.report(CAMPAIGN.count, f"{found:,} findings")
