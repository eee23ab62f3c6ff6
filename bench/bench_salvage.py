"""How fast what losing copies hold is found, and written to a file: bytes of the losing branches a second.

The kept copy goes on with other keys, a tenth as much, so that every key has to be compared. Each partition of the
losing copy has 16 KiB batches of an idempotent producer, with keys of its own, and values that compress by about half.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.room import BUILD, require_room
from epoch.checkpoint import format_checkpoint
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from replication.salvage import open_target, plan_salvage
from tests.made_once import only_maker

PARTITIONS = 16
SIZE = 64 << 20
"""Of each partition's records on the losing side, uncompressed."""
LITTLE = 1 << 20
BATCH_BYTES = 16 << 10
VALUES = 128, 1_024
CODECS = "none", "lz4"
FORK = 1_000
NOW = 1_700_000_000_000


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("value", VALUES)
def bench_salvage_dry_run(benchmark: BenchmarkFixture, value: int, codec: str) -> None:
    size = LITTLE if benchmark.disabled else SIZE
    roots = copies(size, value, codec)
    reports = benchmark.pedantic(lambda: list(plan_salvage(roots, "kept").dry_run()), **rounds(benchmark))
    note(benchmark, roots, sum(each.salvaged for each in reports), value, size)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("value", VALUES)
def bench_salvage_to_parquet(benchmark: BenchmarkFixture, tmp_path: Path, value: int, codec: str) -> None:
    size = LITTLE if benchmark.disabled else SIZE
    roots = copies(size, value, codec)
    salvaged = benchmark.pedantic(lambda: written(roots, tmp_path / "lost.parquet"), **rounds(benchmark))
    note(benchmark, roots, salvaged, value, size)


def bench_salvage_to_json_lines(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    roots = copies(LITTLE, VALUES[-1], "none")
    salvaged = benchmark.pedantic(lambda: written(roots, tmp_path / "lost.jsonl"), **rounds(benchmark))
    note(benchmark, roots, salvaged, VALUES[-1], LITTLE)


def written(roots: list[Path], target: Path) -> int:
    with open_target(target) as write:
        salvaged = sum(each.salvaged for each in plan_salvage(roots, "kept").reports(write))
    target.unlink()
    return salvaged


def rounds(benchmark: BenchmarkFixture) -> dict[str, int]:
    return {"rounds": 1} if benchmark.disabled else {"rounds": 3, "warmup_rounds": 1}


def note(benchmark: BenchmarkFixture, roots: list[Path], salvaged: int, value: int, size: int) -> None:
    assert salvaged == PARTITIONS * records_of(size, value)
    if benchmark.stats is not None:
        stored = sum(file.stat().st_size for file in roots[1].rglob("*.log"))
        seconds = benchmark.stats.stats.median
        benchmark.extra_info["MB/s"] = round(stored / seconds / 1e6)
        benchmark.extra_info["M records/s"] = round(salvaged / seconds / 1e6, 2)


def copies(size: int, value: int, codec: str) -> list[Path]:
    """The kept copy and the losing one, which are made once."""
    directory = BUILD / f"salvage-{size}-{value}-{codec}"
    with only_maker(directory):
        if not directory.exists():
            require_room(disk=size * 5 // 4)
            for name, of_one, epoch in (("kept", size // 10, 2), ("losing", size, 1)):
                write(directory / name / "t-0", of_one, value, codec, epoch)
                for number in range(1, PARTITIONS):
                    link(directory / name / "t-0", directory / name / f"t-{number}")
    return [directory / "kept", directory / "losing"]


def link(partition: Path, other: Path) -> None:
    """Give another partition the same files, which takes no room."""
    other.mkdir()
    for file in partition.iterdir():
        (other / file.name).hardlink_to(file)


def write(partition: Path, size: int, value: int, codec: str, epoch: int) -> None:
    """Write a log whose first records all copies have, and whose others are of one leader epoch."""
    partition.mkdir(parents=True)
    with open(partition / f"{0:020d}.log", "wb") as file:
        file.writelines(log(size, value, codec, epoch))
    (partition / "leader-epoch-checkpoint").write_bytes(format_checkpoint([(0, 0), (epoch, FORK)]))


def log(size: int, value: int, codec: str, epoch: int) -> Iterator[bytes]:
    common = [Record(-1, NOW, b"common", b"common")] * FORK
    yield placed(encode_batch(common, BatchTemplate()), 0, 0)
    rng = random.Random(epoch)
    offset, count = FORK, BATCH_BYTES // value
    while offset < FORK + records_of(size, value):
        records = [
            Record(-1, NOW + offset, b"key-%d-%010d" % (epoch, offset + n), text(rng, value)) for n in range(count)
        ]
        template = BatchTemplate(codec=Codec[codec.upper()], producer_id=epoch, producer_epoch=0, base_sequence=offset)
        yield placed(encode_batch(records, template), offset, epoch)
        offset += count


def text(rng: random.Random, size: int) -> bytes:
    return rng.randbytes(size // 4).hex().encode().ljust(size, b".")


def placed(batch: bytes | bytearray | memoryview, offset: int, epoch: int) -> bytes:
    """Give a batch its place, which is not under its checksum."""
    return offset.to_bytes(8) + bytes(batch[8:12]) + epoch.to_bytes(4) + bytes(batch[16:])


def records_of(size: int, value: int) -> int:
    """How many records of so many bytes there are, in whole batches."""
    return size // BATCH_BYTES * (BATCH_BYTES // value)
