"""What `epochlog serve` prints, and what it must leave as it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tests.replication.cluster.serving.served_process import ServedProcess


@contextmanager
def served(*arguments: object, prefix: tuple[str, ...] = (), errors: IO[str] | None = None) -> Iterator[dict[str, Any]]:
    """Serve on free ports, and give what is printed with --json; in the end it is told to end, and has to."""
    with ServedProcess(*arguments, prefix=prefix, errors=errors) as process:
        yield process.told


def everything(root: Path) -> dict[Path, tuple[int, int, int, bytes]]:
    """What a directory holds: each file's times, size and content."""
    return {
        each: (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, each.read_bytes() if each.is_file() else b"")
        for each in [root, *sorted(root.rglob("*"))]
        for stat in [each.stat()]
    }
