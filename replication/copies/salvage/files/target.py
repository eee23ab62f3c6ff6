"""Where salvaged records go: a new file or directory, of which there is nothing until it is whole."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from logstore.text.record_mask import RecordMask
from replication.base.new_target import new_target
from replication.copies.salvage.errors import TargetError
from replication.copies.salvage.files.json_lines import json_lines
from replication.copies.salvage.files.log_directory import log_directory
from replication.copies.salvage.salvaged_record import SalvagedRecord

Write = Callable[[SalvagedRecord], object]
Form = Callable[[Path], AbstractContextManager[Write]]


def _parquet(path: Path) -> AbstractContextManager[Write]:
    from replication.copies.salvage.files.parquet import parquet  # noqa: PLC0415  pyarrow is an extra

    return parquet(path)


_FORMS: Final[dict[str, Form]] = {
    ".parquet": _parquet,
    ".jsonl": json_lines,
    "": log_directory,
}
"""By suffix."""


def ensure_writable(path: Path, copies: Iterable[Path] = ()) -> None:
    """Raise TargetError unless a target of that name can be begun, outside of all `copies`.

    Raises ModuleNotFoundError for Parquet without pyarrow.
    """
    form_of(path)
    for copy in copies:
        if path.resolve().is_relative_to(copy.resolve()):
            raise TargetError(path, f"lies in the copy {copy}, which is only read; name one outside of all copies")
    if path.suffix == ".parquet":
        import pyarrow.parquet  # noqa: F401, PLC0415  an extra
    if os.path.lexists(path):
        raise TargetError(path, "exists; name one that does not exist yet")
    if not path.absolute().parent.is_dir():
        raise TargetError(path, "the directory that it should be in does not exist; make it first")


def form_of(path: Path) -> Form:
    """Return how records are written to a path. Raises TargetError where its suffix says no form."""
    if not path.suffix and path.name[:1] in {"", ".", "-"}:
        raise TargetError(path, "names no file and no directory; name it lost.jsonl, lost.parquet or lost, for example")
    if path.suffix not in _FORMS:
        known = ", ".join(suffix for suffix in _FORMS if suffix)
        raise TargetError(path, f"its suffix is not one of {known}; a name without a suffix is that of a log directory")
    return _FORMS[path.suffix]


@contextmanager
def open_target(path: Path, copies: Iterable[Path] = (), *, mask: RecordMask | None = None) -> Iterator[Write]:
    """Give a function that writes a record; the target takes its name once all were written and are on the disk.

    `.parquet` and `.jsonl` are files, a name without a suffix is a directory as brokers have it. Raises TargetError
    where it exists, has another suffix or lies in one of `copies`, or the disk is full, ModuleNotFoundError without
    pyarrow for Parquet, and OSError: then, or where the block raises, nothing of it is left.

    With a mask it is a target of the same form, with right checksums, to look at and to pass on: nothing leads back
    from it to the records.
    """
    ensure_writable(path, copies)
    with new_target(path, "a target", TargetError) as part, form_of(path)(part) as write:
        yield write if mask is None else lambda record: write(mask.record(record))
