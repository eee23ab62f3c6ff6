"""The audit of three copies of a cluster, from 1 to 16 GiB together; a unit is a GiB."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.audit_cluster import REPLICAS, make, without_java
from bench.bench_audit import FULL, FULL_PARTITIONS, audit, found, planted, read
from bench.room import BUILD
from bench.scaling.curve import WORK, Curve, Sample

SCALES: Final = (1 << 30, 2 << 30, 4 << 30, REPLICAS * FULL, 16 << 30)
QUICK: Final = (60 << 20, 120 << 20)
FEWEST_PARTITIONS: Final = 20
"""So many hold the planted defects."""


def partitions_of(size: int) -> int:
    """Partitions of the same size, however many bytes there are."""
    return max(FULL_PARTITIONS * size // (REPLICAS * FULL), FEWEST_PARTITIONS)


def place_of(size: int) -> Path:
    """Where a cluster of that size is, or will be: the one of `bench_audit` is kept, others are not."""
    return BUILD / f"cluster-{FULL}-{FULL_PARTITIONS}" if size == REPLICAS * FULL else WORK / f"cluster-{size}"


def auditing(size: int) -> Iterator[Sample]:
    """The whole command, files in the page cache."""
    roots = make(place_of(size), size // REPLICAS, partitions_of(size))
    read(roots)
    told: list[dict[str, Any]] = []

    def see() -> None:
        told.append(audit(roots))

    yield Sample(see, bytes=sum(path.stat().st_size for root in roots for path in root.rglob("*.log")))
    assert found(told[-1]) == planted()
    if place_of(size).is_relative_to(WORK):
        shutil.rmtree(place_of(size))


CURVES: Final = (
    Curve(
        "audit a cluster",
        SCALES,
        QUICK,
        auditing,
        disk=lambda size: 0 if place_of(size).exists() else size,
        memory=lambda size: size,
        missing=without_java,
        rounds=3,
    ),
)
