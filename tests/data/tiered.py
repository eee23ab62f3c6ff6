"""Two brokers of a log with remote storage, as a real cluster left them (see README.md beside this file)."""

import json
from functools import cache
from pathlib import Path

from tests.data.replicas import HERE, unpacked

STATES = ("killed", "recovered")
TIERED = "tiered-0"


def tiered(state: str) -> list[Path]:
    """The brokers' log.dirs roots. Read-only: copy what a test changes."""
    return sorted((_archive() / state).iterdir())


@cache
def tiered_records() -> list[tuple[int, str]]:
    """What Kafka's consumer read, most of it from the remote storage: offsets and values."""
    document = json.loads((_archive() / "truth.json").read_text())
    return [(offset, value) for offset, value in document["records"]]


def _archive() -> Path:
    [archive] = HERE.glob("tiered-*.tar.xz")
    return unpacked(archive)
