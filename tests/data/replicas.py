"""Replicas of real Kafka clusters, unpacked once into build/replicas (see README.md beside this file)."""

import json
import shutil
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

from tests.campaign import is_full, run_seed
from tests.made_once import only_maker

HERE = Path(__file__).parent
PROJECT = HERE.parent.parent
ARCHIVES = {
    "diverged": PROJECT / "replication/cli/data/kafka-4.3.1.tar.xz",
    "reconciled": PROJECT / "replication/cli/data/kafka-4.3.1.tar.xz",
    "healed": HERE / "kafka-3.9.2-and-damage.tar.xz",
    "diverged-4.4.0": HERE / "kafka-4.4.0.tar.xz",
    "reconciled-4.4.0": HERE / "kafka-4.4.0.tar.xz",
    "damage": HERE / "kafka-3.9.2-and-damage.tar.xz",
}
LABELS = tuple(label for label in ARCHIVES if label != "damage")
"""Of replicas as brokers left them."""
IN_TURN = LABELS if is_full() else (LABELS[run_seed() // 2 % len(LABELS)],)
"""Those of them with which this run does what takes long. Halved: the parity of the seed tells the release of Kafka."""
SNAPSHOTS = {
    "kafka-4.3.1-diverged": "diverged",
    "kafka-4.3.1-reconciled": "reconciled",
    "kafka-3.9.2-healed": "healed",
}


@cache
def replicas(label: str) -> Path:
    """The directory of `label`, with broker-1 to broker-3 in it. Read-only: copy what a test changes."""
    return unpacked(ARCHIVES[label]) / label


def unpacked(archive: Path) -> Path:
    """Where an archive is unpacked, once."""
    stat = archive.stat()
    target = PROJECT / "build/replicas" / f"{archive.stem}-{stat.st_size}-{stat.st_mtime_ns}"
    with only_maker(target):
        if not target.exists():
            _unpack(archive, target)
    return target


def _unpack(archive: Path, target: Path) -> None:
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(archive) as tar:
        # "tar", not "data": one damaged replica holds a symbolic link that leaves it, on purpose.
        tar.extractall(partial, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))  # noqa: S202
    partial.rename(target)


@cache
def truth(label: str) -> dict[str, Any]:
    """What Kafka's own DumpLogSegments says is in each replica."""
    return _json(f"{label}.truth.json")


@cache
def cross(label: str) -> dict[str, Any]:
    """What each replica would truncate under each leader, per ordered pair."""
    return _json(f"{label}.cross.json")


def damage_kinds() -> list[str]:
    """The names of the damaged variants."""
    return sorted(place.name for place in replicas("damage").iterdir())


def damaged(kind: str, target: Path) -> dict[str, Any]:
    """Build the damaged variant in `target`, and return what is expected of it."""
    overlay = replicas("damage") / kind
    expected: dict[str, Any] = json.loads((overlay / "expected.json").read_text())
    shutil.copytree(replicas(SNAPSHOTS[expected["source_snapshot"]]), target, symlinks=True, dirs_exist_ok=True)
    for name in expected["removed"]:
        (target / name).unlink()
    for file in (overlay / "files").rglob("*"):
        if file.is_symlink() or file.is_file():
            _replace(file, target / file.relative_to(overlay / "files"))
    _remove_empty_directories(target)
    return expected


def _replace(file: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    shutil.copy2(file, place, follow_symlinks=False)


def _remove_empty_directories(root: Path) -> None:
    for directory in sorted((path for path in root.rglob("*") if path.is_dir()), reverse=True):
        if not any(directory.iterdir()):
            directory.rmdir()


def _json(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((HERE / "truth" / name).read_text())
    return document
