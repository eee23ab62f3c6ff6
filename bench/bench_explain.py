"""How many offsets of a large log are explained in a minute: in transactions, compressed, and where the cleaner was.

And how long the command takes, from its start to the last line that it prints.
"""

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_local_audit import measured, note, printed
from epoch.checkpoint import format_checkpoint
from logstore import BatchTemplate, Codec, Record, encode_batch, encode_end_transaction
from logstore.batch.control import ControlType, EndTransactionMarker
from replication.cli.judging.shipped_replicas import ARCHIVE
from replication.explain import Why, explain
from tests.logstore.batches import batch, record

RECORDS: Final = 200
"""In a batch."""
BATCHES: Final = 10
"""Of a transaction; one transaction in four is aborted."""
PRODUCERS: Final = (7, 8)
OFFSETS, FEW = 20_000_000, 20_000
SIZE, LITTLE = 64 << 20, 64 << 10
"""Bytes of the log that the command explains."""
VALUES: Final = [b"value-%06d-of-thirty-two-bytes.." % number for number in range(RECORDS)]


def transactional(producer: int, codec: Codec) -> bytes:
    """A batch as a transactional producer sends it."""
    template = BatchTemplate(
        codec=codec, producer_id=producer, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    return bytes(
        encode_batch([Record.of(value, b"key-%06d" % number) for number, value in enumerate(VALUES)], template)
    )


def cleaned() -> bytes:
    """A batch of which the cleaner has left every other record."""
    kept = [record(offset_delta=each, key=b"key-%06d" % each, value=VALUES[each]) for each in range(0, RECORDS, 2)]
    return batch(records=kept, last_offset_delta=RECORDS - 1)


def ends() -> list[tuple[bytes, bytes]]:
    """Markers of each producer: a commit and an abort."""
    return [
        (
            bytes(encode_end_transaction(EndTransactionMarker(ControlType.COMMIT, 0, 0), producer, 0, 1_000)),
            bytes(encode_end_transaction(EndTransactionMarker(ControlType.ABORT, 0, 0), producer, 0, 1_000)),
        )
        for producer in PRODUCERS
    ]


def write(root: Path, offsets: int, next_batch: Callable[[int], tuple[bytes, int]]) -> Path:
    """Write a copy of a broker with one partition; `next_batch` gives a batch and how many offsets it has."""
    directory = root / "t-0"
    directory.mkdir(parents=True)
    offset = number = 0
    with open(directory / f"{0:020d}.log", "wb", buffering=1 << 20) as log:
        while offset < offsets:
            content, count = next_batch(number)
            log.write(offset.to_bytes(8, "big"))
            log.write(memoryview(content)[8:])  # no checksum covers the offset
            offset, number = offset + count, number + 1
    (directory / "leader-epoch-checkpoint").write_bytes(format_checkpoint([(0, 0)]))
    (root / ".kafka_cleanshutdown").touch()
    return root


def in_transactions(codec: Codec) -> Callable[[int], tuple[bytes, int]]:
    """Two producers in turn, and behind ten batches of each their markers."""
    data, markers, round_ = [transactional(each, codec) for each in PRODUCERS], ends(), 2 * BATCHES + 2

    def next_batch(number: int) -> tuple[bytes, int]:
        at, producer = number % round_, number % 2
        if at < 2 * BATCHES:
            return data[producer], RECORDS
        return markers[producer][number // round_ % 4 == 0], 1

    return next_batch


def where_the_cleaner_was() -> Callable[[int], tuple[bytes, int]]:
    """Batches of which half of the records are gone."""
    content = cleaned()
    return lambda _number: (content, RECORDS)


@pytest.mark.parametrize(
    ("batches", "share", "gone"),
    [
        (in_transactions(Codec.NONE), 1, Why.ABORTED),
        (in_transactions(Codec.ZSTD), 1, Why.ABORTED),
        (where_the_cleaner_was(), 4, Why.COMPACTED),
    ],
    ids=["transactions", "transactions-zstd", "compacted"],
)
def bench_explain(
    benchmark: BenchmarkFixture, tmp_path: Path, batches: Callable[[int], tuple[bytes, int]], share: int, gone: Why
) -> None:
    offsets = (FEW if benchmark.disabled else OFFSETS) // share
    root = write(tmp_path / "broker-1", offsets, batches)
    explanation = benchmark.pedantic(lambda: explain("t-0", [root]), rounds=1 if benchmark.disabled else 3)
    assert sum(explanation.counts.values()) == explanation.end >= offsets
    assert {Why.DELIVERED, gone} <= explanation.counts.keys()
    if not benchmark.disabled:
        a_minute = explanation.end / benchmark.stats.stats.median * 60
        benchmark.extra_info["offsets a minute"] = f"{a_minute:.2e}"


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD], ids=["none", "zstd"])
def bench_command_on_a_log(benchmark: BenchmarkFixture, tmp_path: Path, codec: Codec) -> None:
    """A log of 64 MiB in one file, as it lies on the disk."""
    size = LITTLE if benchmark.disabled else SIZE
    offsets = size // len(transactional(PRODUCERS[0], codec)) * RECORDS
    root = write(tmp_path / "broker-1", offsets, in_transactions(codec))
    costs, document = measured(benchmark, lambda: printed("explain", [root], "t-0"))
    note(benchmark, costs)
    assert document["end"] >= offsets


def bench_command_on_the_shipped_brokers(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """A partition whose history has forked, beside the other brokers."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    roots = sorted((tmp_path / "diverged").iterdir())
    costs, document = measured(benchmark, lambda: printed("explain", roots, "diverge-0"))
    note(benchmark, costs)
    assert document["counts"]["truncated"]
