"""The logs of a remote copy that comparisons ask for: each is fetched once, unless there is too much to keep."""

import shutil
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Final

from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import Copy

KEPT_BYTES: Final = 256 << 20
"""Of one copy, between two openings: a comparison opens the same segments for headers, and then for records."""


class FetchedLogs:
    """`.log` files of one copy, in a directory that goes when this object does."""

    def __init__(self, copy: Copy, altered: Callable[[str], object]) -> None:
        """Begin with none; `altered` is called with files that are altered on their way."""
        self._copy, self._altered = copy, altered
        self._openings = 0

    @contextmanager
    def opened(self, names: Collection[str]) -> Iterator[Path]:
        """Open the directory with these files in it, as two transfers have them. Raises OSError."""
        self._openings += 1
        try:
            missing = {name for name in names if not (self._place / name).exists()}
            if missing:
                self._fetch(missing)
            yield self._place
        finally:
            self._openings -= 1
            if not self._openings:
                self._keep_few()

    @cached_property
    def _place(self) -> Path:
        place = Path(mkdtemp(prefix="epochlog-"))
        weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
        return place

    def _fetch(self, names: Collection[str]) -> None:
        sizes = {segment.file: segment.size for segment in self._copy.segments}
        with TemporaryDirectory(prefix="fetch-", dir=self._place) as root:
            fetched = Storage(self._copy.root).local_copy(
                self._copy.directory,
                files=sizes,
                only=names,
                root=Path(root),
                is_agreed=True,
                altered=self._altered,
            )
            with fetched as directory:
                for file in directory.iterdir():
                    file.rename(self._place / file.name)

    def _keep_few(self) -> None:
        files = [*self._place.iterdir()]
        if sum(file.stat().st_size for file in files) > KEPT_BYTES:
            for file in files:
                file.unlink()
