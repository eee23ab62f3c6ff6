"""Copies of real controllers' metadata (tests/data/README.md)."""

import shutil
from pathlib import Path

from replication.quorum_recovery import MetadataCopy, read_copy

DATA = Path(__file__).parents[3] / "data"
KEPT = {is_dynamic: DATA / f"quorum{'-of-changing-voters' * is_dynamic}" for is_dynamic in (False, True)}
METADATA = "__cluster_metadata-0"


def copied(target: Path, *, is_dynamic: bool = False) -> Path:
    """Copy the directories of all nodes, for a test that changes them."""
    return shutil.copytree(KEPT[is_dynamic], target)


def controllers(root: Path) -> dict[int, Path]:
    """The directories of controllers 1 to 3."""
    return {node: root / f"controller-{node}" for node in (1, 2, 3)}


def cut_off(root: Path) -> int:
    """Which controller was cut off, and wrote more than the others."""
    sizes = {node: log_of(path).stat().st_size for node, path in controllers(root).items()}
    return max(sizes, key=lambda node: sizes[node])


def went_on(root: Path) -> list[int]:
    """The other two."""
    return [node for node in (1, 2, 3) if node != cut_off(root)]


def log_of(node: Path) -> Path:
    return node / METADATA / f"{0:020d}.log"


def copies_of(*nodes: Path) -> list[MetadataCopy]:
    return [read_copy(node) for node in nodes]
