"""What is made once below build/ and kept: processes that need it at the same time wait for the one that makes it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def only_maker(directory: Path) -> Iterator[None]:
    """Let one process at a time look whether `directory` is there, and make it."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with open(directory.with_name(f".{directory.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
