"""One partition's log, from 64 MiB to 8 GiB in segments of 1 GiB; a unit is a GiB."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from bench.peer.files import config_of, write_log
from bench.scaling.curve import WORK, Curve, Sample
from logstore.log.log import Log
from logstore.offline.log_file import LogFile
from logstore.offline.partition_directory import PartitionDirectory
from logstore.recovery.log_loader import load_log
from logstore.verify import verify_partition

SCALES: Final = tuple(mib << 20 for mib in (64, 256, 1 << 10, 2 << 10, 4 << 10, 8 << 10))
QUICK: Final = (1 << 20, 4 << 20)
SEGMENT_BYTES: Final = 1 << 30
KEPT: Final = WORK.with_name(f"{WORK.name}-logs")
"""Logs of all sizes are kept until the last curve of them is measured."""
CONFIG: Final = config_of(SEGMENT_BYTES)


def written(size: int) -> Path:
    """Return a log of that size that was closed in order, written a batch of 16 KiB at a time unless it is there."""
    directory = KEPT / str(size) / "t-0"
    if not directory.exists():
        partial = KEPT / "partial" / "t-0"
        write_log(partial, size, SEGMENT_BYTES)
        partial.parent.rename(directory.parent)
    return directory


def bytes_of(directory: Path) -> int:
    """Count the bytes of its log."""
    return sum(path.stat().st_size for path in directory.glob("*.log"))


def linked(source: Path, *, logs_only: bool) -> Path:
    """Make the same log once more, its segments as hard links: nothing is torn, so that nothing writes to them."""
    directory = WORK / "t-0"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    for path in source.iterdir():
        if path.suffix == ".log":
            os.link(path, directory / path.name)
        elif not logs_only:
            shutil.copyfile(path, directory / path.name)
    return directory


def verifying(size: int) -> Iterator[Sample]:
    """Headers, checksums, indexes and epochs, on a fresh mapping."""
    directory = written(size)

    def verify() -> None:
        assert list(verify_partition(PartitionDirectory.open(directory))) == []

    yield Sample(verify, bytes=bytes_of(directory))


def scanning(size: int) -> Iterator[Sample]:
    """Headers of all batches into columns, on a fresh mapping."""
    directory = written(size)

    def scan() -> None:
        for path in sorted(directory.glob("*.log")):
            with LogFile.open(path) as file:
                for _ in file.scan(check_crc=False):
                    pass

    yield Sample(scan, bytes=bytes_of(directory))


def recovering(size: int) -> Iterator[Sample]:
    """As after a crash before anything was flushed: all segments, their indexes written anew."""
    source = written(size)
    directories: list[Path] = []

    def recover() -> None:
        loaded = load_log(directories[-1], CONFIG)
        assert loaded.report.recovered_bytes == bytes_of(source)

    yield Sample(recover, bytes=bytes_of(source), before=lambda: directories.append(linked(source, logs_only=True)))


def opening(size: int) -> Iterator[Sample]:
    """After a clean stop."""
    directory = linked(written(size), logs_only=False)
    opened: list[Log] = []

    def close() -> None:
        if opened:
            opened.pop().close()

    yield Sample(lambda: opened.append(Log.open(directory, CONFIG)), bytes=bytes_of(directory), before=close)
    close()


def _curve(name: str, make: Callable[[int], Iterator[Sample]]) -> Curve:
    def missing(size: int) -> int:
        return 0 if (KEPT / str(size)).exists() else size

    return Curve(name, SCALES, QUICK, make, disk=missing, memory=lambda size: size)


CURVES: Final = (
    _curve("verify a log", verifying),
    _curve("scan the headers of a log", scanning),
    _curve("recover a log after a crash", recovering),
    _curve("open a log after a clean stop", opening),
)
