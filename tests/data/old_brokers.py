"""Directories of brokers 0.10 to 2.0, with what their own consumers read in them (see README.md beside this file)."""

import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.made_once import only_maker

HERE = Path(__file__).parent / "old-brokers"
BUILD = HERE.parents[2] / "build/replicas"
VERSIONS = sorted(path.name.removesuffix(".tar.xz") for path in HERE.glob("*.tar.xz"))


class OldRecord(NamedTuple):
    """A record as the release's consumer gave it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def old_broker(version: str, state: str) -> Path:
    """The log.dirs root, `killed` or `recovered`. Read-only: copy what a test changes."""
    return _unpacked(version) / state


def old_records(version: str) -> dict[str, list[OldRecord]]:
    """What the release's consumer read, control batches left out, by the partitions' directories."""
    return {
        f"{topic}-0": [
            OldRecord(offset, timestamp, _bytes(key), _bytes(value)) for offset, timestamp, key, value in rows
        ]
        for topic, rows in _truth(version)["records"].items()
    }


@cache
def _truth(version: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((_unpacked(version) / "truth.json").read_text())
    return document


def _unpacked(version: str) -> Path:
    archive = HERE / f"{version}.tar.xz"
    stat = archive.stat()
    target = BUILD / f"old-{version}-{stat.st_size}-{stat.st_mtime_ns}"
    with only_maker(target):
        if not target.exists():
            partial = target.with_name(f"{target.name}.partial")
            with tarfile.open(archive) as tar:
                tar.extractall(partial, filter="data")
            partial.rename(target)
    return target


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
