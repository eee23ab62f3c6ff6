"""Replicas of a real cluster, which ship with epochlog: the directories of three brokers that had been killed."""

import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ARCHIVE: Final = Path(__file__).parents[1] / "data/kafka-4.3.1.tar.xz"


@contextmanager
def shipped_replicas() -> Iterator[Path]:
    """Unpack them into a directory for a while."""
    with tempfile.TemporaryDirectory(prefix="epochlog-demo-") as directory:
        unpacked(Path(directory))
        yield Path(directory)


def unpacked(place: Path) -> list[Path]:
    """Unpack them below a directory, into `diverged` as they were and into `reconciled` as Kafka left them.

    Returns the brokers' directories.
    """
    with tarfile.open(ARCHIVE) as archive:
        # Python before 3.11.4 knows no filters; the archive is our own.
        archive.extractall(place, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # type: ignore[arg-type]  # noqa: S202  ours
    return sorted(place.glob("*/broker-*"))
