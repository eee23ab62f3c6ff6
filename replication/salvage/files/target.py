"""Where salvaged records go: a new file or directory, of which there is nothing until it is whole."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from epoch.filesystem import REAL
from replication.salvage.errors import TargetError
from replication.salvage.files.json_lines import json_lines
from replication.salvage.files.log_directory import log_directory
from replication.salvage.salvaged_record import SalvagedRecord

Write = Callable[[SalvagedRecord], object]
Form = Callable[[Path], AbstractContextManager[Write]]


def _parquet(path: Path) -> AbstractContextManager[Write]:
    from replication.salvage.files.parquet import parquet  # noqa: PLC0415  pyarrow is an extra

    return parquet(path)


_FORMS: Final[dict[str, Form]] = {
    ".parquet": _parquet,
    ".jsonl": json_lines,
    ".json": json_lines,
    "": log_directory,
}
"""By suffix."""


def ensure_writable(path: Path) -> None:
    """Raise TargetError unless a target of that name can be begun, and ModuleNotFoundError without pyarrow."""
    form_of(path)
    if path.suffix == ".parquet":
        import pyarrow.parquet  # noqa: F401, PLC0415  an extra
    if os.path.lexists(path):
        raise TargetError(path, "exists; name one that does not exist yet")
    if not path.absolute().parent.is_dir():
        raise TargetError(path, "the directory that it should be in does not exist; make it first")


def form_of(path: Path) -> Form:
    """Return how records are written to a path. Raises TargetError where its suffix says no form."""
    if path.suffix not in _FORMS:
        known = ", ".join(suffix for suffix in _FORMS if suffix)
        raise TargetError(path, f"its suffix is none of {known}; a name without one is that of a log directory")
    return _FORMS[path.suffix]


@contextmanager
def open_target(path: Path) -> Iterator[Write]:
    """Give a function that writes a record; the target takes its name once all were written and are on the disk.

    `.parquet` and `.jsonl` are files, a name without a suffix is a directory as brokers have it. Raises TargetError
    where it exists or has another suffix, ModuleNotFoundError without pyarrow for Parquet, and OSError: then, or where
    the block raises, nothing of it is left.
    """
    ensure_writable(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with form_of(path)(part) as write:
            yield write
        if os.path.lexists(path):
            raise TargetError(path, "exists by now; name one that does not exist yet")
        REAL.rename(part, path)
        REAL.fsync_directory(path.absolute().parent)
    finally:
        if part.is_dir():
            REAL.remove_tree(part)
        else:
            part.unlink(missing_ok=True)
