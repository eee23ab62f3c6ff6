"""Small log.dirs roots, written file by file."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.replication.partitions import ABatch, write_partition

LONG_AGO = 1_700_000_000 * 10**9
META = "version=0\ncluster.id={cluster}\nbroker.id={node}\n"
"""Of ZooKeeper's time, when a log needs no topic id."""


def write_root(
    root: Path,
    partitions: Mapping[str, Sequence[ABatch]],
    *,
    node: int | None = None,
    cluster: str = "clusterA",
    segment_batches: int = 4,
) -> Path:
    """Write a root with these partitions; its epochs are those of the batches."""
    root.mkdir(parents=True, exist_ok=True)
    for name, batches in partitions.items():
        starts: dict[int, int] = {}
        for each in batches:
            starts.setdefault(each.epoch, each.base_offset)
        write_partition(root, batches, list(starts.items()), name=name, segment_batches=segment_batches)
    if node is not None:
        (root / "meta.properties").write_text(META.format(cluster=cluster, node=node))
    return root


def batches(count: int, *, epoch: int = 0, start: int = 0, branch: str = "") -> list[ABatch]:
    """Batches of three records each."""
    return [ABatch(start + 3 * number, 3, epoch, branch) for number in range(count)]


def age(root: Path, number: int = 0) -> None:
    """Let all files be as old as if nobody had written to them for long, but keep those of an earlier number."""
    for file in root.rglob("*"):
        if file.is_file() and file.stat().st_mtime_ns > LONG_AGO + number:
            os.utime(file, ns=(LONG_AGO + number, LONG_AGO + number))
