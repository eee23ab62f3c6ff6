"""One `.log` file, mapped into memory (Kafka: FileRecords). Metadata snapshots (`.checkpoint`) are log files too.

The size is fixed when the file is opened: a log that grows is opened again, and whoever reads a running broker's log
reads a damaged tail again before calling it damage. A file that shrinks while it is mapped ends the process that reads
beyond its new end (SIGBUS), as with any mapping; only a truncation by another process shrinks it, as a broker does with
its active segment. What this process itself truncates is never cut under a reader (`mapped_files`).
"""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from logstore.arguments import ensure_bool
from logstore.batch.any_batch import Batch
from logstore.batch.batches import read_batches
from logstore.files.mapped_files import map_whole_file
from logstore.offline.columns.column_source import ColumnSource

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from logstore.batch.columns import BatchColumns
    from logstore.offline.columns.column_reader import Chunk


class LogFile(ColumnSource):
    """The bytes of one log file, and ways to walk over its batches.

    The mapping outlives `close` for as long as batches, views or columns that were taken from it are in use.

    >>> with LogFile.open(path) as log:
    ...     for batch in log.batches():
    ...         print(batch.base_offset, batch.record_count)
    """

    def __init__(self, data: memoryview, path: Path | None = None) -> None:
        """Create it with `data` as the content of the log file `path`."""
        self.data: memoryview = data
        self.path = path
        self._file = str(path) if path else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path or 'of bytes'}, size={len(self.data)})"

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Map the file as it is now. Raises OSError."""
        path = path if isinstance(path, Path) else Path(path)
        return cls(map_whole_file(path), path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the bytes. They are unmapped once nothing else holds them."""
        self.data = memoryview(b"")

    @property
    def size(self) -> int:
        """Bytes of the file when it was opened; 0 once closed."""
        return len(self.data)

    @property
    def array(self) -> "NDArray[np.uint8]":
        """The bytes as the kernels take them."""
        import numpy as np  # noqa: PLC0415  plain readers do without

        return np.frombuffer(self.data, np.uint8)

    def batches(self, position: int = 0) -> Iterator[Batch]:
        """Walk over the batches of all magics from the byte `position` on, which must be where one begins.

        Checksums are not looked at (`ensure_valid`). Raises TornBatchError or InvalidBatchHeaderError at the first
        thing that is no batch.
        """
        return read_batches(self.data, position, self._file)

    def scan(self, position: int = 0, *, check_crc: bool = True, threads: int = 1) -> Iterator["BatchColumns"]:
        """Walk over the same batches as columns, with the compiled kernels: fast, and without errors.

        The last chunk's `stop` says why the walk ended; there is always a last chunk, if only an empty one. Two
        `threads` read a large log in halves, if the process may run on as many cores: faster where both are free. More
        do nothing. Where nothing but headers is needed, `scan_headers` is faster.
        """
        from logstore.offline.batch_scan import scan_batches  # noqa: PLC0415  numpy and numba load on first bulk use

        ensure_bool(check_crc, "check_crc")
        return scan_batches(self.data, position, check_crc=check_crc, file=self._file, threads=threads)

    def _chunks(self, start: int, end: int | None) -> "Iterator[Chunk]":
        from logstore.offline.columns.column_reader import ColumnReader  # noqa: PLC0415  numba loads on first bulk use

        return ColumnReader(start, end, self._file).chunks(self.data)
