"""One thread and two, each with as much to do: where threads help, a unit costs less."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import rmtree
from typing import Final

import numpy as np

from bench.audit_cluster import append
from bench.replica import one_batch
from bench.scaling.curve import WORK, Curve, Sample
from bench.scaling.epochs import ANSWERS, LOG_END, history
from epoch.bulk import EpochTable
from logstore import Log
from logstore.kernels.decode import decode_chunks
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.offline.partition_directory import PartitionDirectory
from logstore.recovery.log_loader import load_log
from logstore.verify import verify_partition

SCALES: Final = (1, 2)
SIZE, SMALL_SIZE = 512 << 20, 1 << 20
"""Bytes of the log that each thread works on, measured and for trying."""
EPOCHS: Final = 1_000
CONFIG: Final = LogConfig(segment_bytes=1 << 30, retention_ms=-1, message_timestamp_after_max_ms=2**63 - 1)

Work = Callable[[int], object]


def logs_of(threads: int, size: int) -> list[Path]:
    """Write a log for each thread, and leave it as a crash does."""
    for number in range(threads):
        log = Log.open(WORK / f"t-{number}", CONFIG)
        append(log, 0, 0, size // len(one_batch()))
        log.abandon()
    return [WORK / f"t-{number}" for number in range(threads)]


def at_once(pool: ThreadPoolExecutor, threads: int, work: Work) -> None:
    """Run each thread's part."""
    for _ in pool.map(work, range(threads)):
        pass


def reading(work: Callable[[Path], object], size: int) -> Callable[[int], Iterator[Sample]]:
    """Make samples in which each thread reads a log of its own."""

    def make(threads: int) -> Iterator[Sample]:
        directories = logs_of(threads, size)
        written = sum(path.stat().st_size for directory in directories for path in directory.glob("*.log"))
        with ThreadPoolExecutor(threads) as pool:
            yield Sample(
                lambda: at_once(pool, threads, lambda number: work(directories[number])),
                bytes=written,
                before=lambda: [forget(directory) for directory in directories],
            )

    return make


def forget(directory: Path) -> None:
    """Remove all but the log, as after a crash before anything was flushed."""
    for path in directory.iterdir():
        if path.suffix != ".log":
            path.unlink()


def verify(directory: Path) -> None:
    """Check headers and checksums."""
    for _ in verify_partition(PartitionDirectory.open(directory)):
        pass


def decode(directory: Path) -> None:
    """Decode all records to columns."""
    for path in directory.glob("*.log"):
        with LogFile.open(path) as file:
            for chunk in file.scan(check_crc=False):
                for _ in decode_chunks(file.array, chunk):
                    pass


def appending(size: int) -> Callable[[int], Iterator[Sample]]:
    """Make samples in which each thread appends to a log of its own as a follower, 64 KiB a call."""

    def make(threads: int) -> Iterator[Sample]:
        logs: list[Log] = []
        batches = size // len(one_batch())

        def begin() -> None:
            end()
            logs.extend(Log.open(WORK / f"t-{number}", CONFIG) for number in range(threads))

        def end() -> None:
            while logs:
                directory = logs[-1].directory
                logs.pop().abandon()
                rmtree(directory)

        with ThreadPoolExecutor(threads) as pool:
            yield Sample(
                lambda: at_once(pool, threads, lambda number: append(logs[number], 0, 0, batches)),
                bytes=threads * batches * len(one_batch()),
                before=begin,
            )
        end()

    return make


def asking_in_bulk(threads: int) -> Iterator[Sample]:
    """Each thread asks for a million end offsets of one partition."""
    table = EpochTable([history(EPOCHS)])
    epochs = np.random.default_rng(1).integers(0, 2 * EPOCHS, ANSWERS)
    with ThreadPoolExecutor(threads) as pool:
        yield Sample(
            lambda: at_once(pool, threads, lambda _: table.end_offsets_for(0, epochs, LOG_END)),
            items=threads * ANSWERS,
        )


def curves(size: int) -> tuple[Curve, ...]:
    """All of them, with logs of so many bytes."""
    room = {"disk": lambda threads: threads * size, "memory": lambda threads: threads * size}
    return (
        Curve("verify a log by each thread", SCALES, SCALES, reading(verify, size), **room),
        Curve(
            "recover a log by each thread", SCALES, SCALES, reading(lambda path: load_log(path, CONFIG), size), **room
        ),
        Curve("decode the records of a log by each thread", SCALES, SCALES, reading(decode, size), **room),
        Curve("append as follower by each thread", SCALES, SCALES, appending(size), **room),
        Curve("end offsets for epochs, in bulk, by each thread", SCALES, SCALES, asking_in_bulk, "answers"),
    )
