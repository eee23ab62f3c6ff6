"""Replicas of a real cluster, which ship with epochlog: the directories of three brokers that had been killed."""

import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ARCHIVE: Final = Path(__file__).parent / "data/kafka-4.3.1.tar.xz"


@contextmanager
def shipped_replicas() -> Iterator[Path]:
    """Unpack them for a while below a directory: as they were into `diverged`, as Kafka left them into `reconciled`."""
    with tempfile.TemporaryDirectory(prefix="epochlog-demo-") as directory:
        place = Path(directory)
        with tarfile.open(ARCHIVE) as archive:
            # Python before 3.11.4 knows no filters; the archive is our own.
            archive.extractall(place, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # type: ignore[arg-type]  # noqa: S202  ours
        yield place
