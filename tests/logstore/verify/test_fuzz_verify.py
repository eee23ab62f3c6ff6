"""Verify of a partition with any damage: findings or none, soon, and never an exception."""

import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.verify import compare_epochs, verify_root
from tests.campaign import Campaign
from tests.data.replicas import replicas
from tests.logstore.batches import batch, record
from tests.logstore.golden import LEGACY

SLOWEST = 30
"""Seconds that no damage to files of this size comes near."""
SMALL = 1 << 20
"""Bytes of the largest log in a partition that is damaged here: verify is run hundreds of times."""
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 2**63 - 1, 2**63, 2**64 - 1)
NAMES = (
    "00000000000000000007.log",
    "09223372036854775807.log",
    "00000000000000000000.index",
    "00000000000000000009.txnindex",
    "00000000000000000000.snapshot",
    "00000000000000000003-0000000001.checkpoint",
    "leader-epoch-checkpoint",
    "partition.metadata",
    "quorum-state",
    "junk\x1b\udcff",
)
CHECKPOINTS = ("recovery-point-offset-checkpoint", "replication-offset-checkpoint", ".kafka_cleanshutdown")


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    def too_long(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"still busy after {SLOWEST} seconds")

    before = signal.signal(signal.SIGALRM, too_long)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def sources() -> list[Path]:
    """Partitions of real brokers that are small, with transactions, compaction, and all codecs among them."""
    root = replicas("reconciled") / "broker-1"
    partitions = sorted(path.parent for path in root.glob("*/leader-epoch-checkpoint"))
    return [path for path in partitions if 0 < sum(file.stat().st_size for file in path.glob("*.log")) < SMALL]


def build(chance: random.Random, root: Path) -> Path:
    """Copy a partition, with its root's checkpoints, and damage a few files; return the partition."""
    source = chance.choice(sources())
    partition = root / source.name
    shutil.copytree(source, partition)
    for name in CHECKPOINTS:
        if (source.parent / name).exists():
            shutil.copy(source.parent / name, root)
    for _ in range(chance.choice((1, 1, 2, 5))):
        files = sorted(file for file in root.rglob("*") if file.is_file())
        chance.choice((damage, damage, damage, add_junk, hostile_log))(chance, chance.choice(files))
    return partition


def damage(chance: random.Random, file: Path) -> None:
    """Flip a bit, cut, splice, overwrite with an extreme number, or remove."""
    data = bytearray(file.read_bytes())
    place = chance.randint(0, len(data))
    match chance.randrange(6):
        case 0 | 1 if data:
            data[place % len(data)] ^= 1 << chance.randrange(8)
        case 2:
            del data[place:]
        case 3:
            other = chance.choice([each for each in sorted(file.parent.iterdir()) if each.is_file()]).read_bytes()
            start = chance.randint(0, len(other))
            data[place:place] = other[start : start + chance.randint(0, 2_000)]
        case 4:
            size = chance.choice((1, 2, 4, 8))
            value = chance.choice(EXTREMES) & (1 << 8 * size) - 1
            data[place : place + size] = value.to_bytes(size, chance.choice(("big", "little")))
        case 5:
            file.unlink()
            return
    file.write_bytes(data)


def add_junk(chance: random.Random, file: Path) -> None:
    """Put a file of nothing, or of another's bytes, where none was."""
    content = chance.choice((b"", b"\0" * 100, chance.randbytes(200), file.read_bytes()))
    (file.parent / chance.choice(NAMES)).write_bytes(content)


def hostile_log(chance: random.Random, file: Path) -> None:
    """Write a log of sound checksums whose headers say anything."""
    numbers = [0, 1, 5, 2**31 - 1]
    batches = [
        batch(
            base_offset=chance.choice((0, 3, 2**63 - 1, 2**62)),
            leader_epoch=chance.choice((-1, 0, 2**31 - 1)),
            attributes=chance.randrange(128),
            last_offset_delta=chance.choice(numbers),
            base_timestamp=chance.choice((-1, 0, 2**63 - 1, -(2**63))),
            max_timestamp=chance.choice((-1, 0, 2**63 - 1, -(2**63))),
            producer_id=chance.choice((-1, 0, 2**63 - 1)),
            record_count=chance.choice(numbers),
            records=[record(key=chance.choice((None, b"\0\0\0\0")))],
        )
        for _ in range(chance.randint(1, 4))
    ]
    legacy = chance.choice(sorted(LEGACY.glob("*.log"))).read_bytes()[: chance.choice((0, 500))]
    target = file if file.suffix == ".log" else file.parent / NAMES[chance.randrange(2)]
    target.write_bytes(b"".join(batches) + legacy)


def test_sound_partitions_are_the_campaign_s_material() -> None:
    assert len(sources()) > 3


def test_verify_answers_whatever_the_damage(memory_dir: Path) -> None:
    campaign = Campaign("verify on damaged partitions", full=5_000, share=150)
    chance = random.Random(campaign.seed)
    for number in range(campaign.count):
        root = memory_dir / f"fuzz-{number}"
        root.mkdir()
        partition = build(chance, root)
        signal.alarm(SLOWEST)
        try:
            for finding in verify_root(OfflineLogDirectory.open(root), records=True):
                assert finding.message
                assert finding.as_json()
            for opened in OfflineLogDirectory.open(root).partitions():
                compare_epochs(opened)
        except BaseException as error:
            error.add_note(f"input {number} of seed {campaign.seed}: {sorted(partition.iterdir())}")
            raise
        finally:
            signal.alarm(0)
        shutil.rmtree(root)
    campaign.report(campaign.count)
