"""Those parts of a remote copy's logs in which all lies that is asked for, by the indexes; the rest are holes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from logstore.errors import LogStoreError
from logstore.offline.log_file import LogFile
from logstore.verify.log_pieces import DamagedBytes, read_pieces
from replication.copies.audit.examination.part_scan import PartScan
from replication.copies.audit.log_rows.index_bounds import ByteBounds, byte_bounds, index_files, index_reach
from replication.copies.audit.log_rows.listed_copy import ListedCopy
from replication.copies.audit.log_rows.selection import Selection
from replication.copies.audit.snapshots.storage import Storage


@contextmanager
def bounded_copy(listed: ListedCopy, selection: Selection) -> Iterator[Path]:
    """Enter a directory with the logs that are read, and their indexes. Raises OSError.

    What is outside of the bounds is left out where the indexes and the log agree on them, and nothing is damaged there.
    """
    copy = listed.copy
    storage = Storage(copy.root)
    names = [listed.file_of(part) for part in listed.ranges]
    indexes = {index for name in names for index in index_files(name)}
    with (
        TemporaryDirectory(prefix="epochlog-") as root,
        storage.local_copy(copy.directory, files=copy.files, only=indexes, root=Path(root)) as directory,
    ):
        for segment in copy.segments:
            path = directory / segment.file
            reach = index_reach(path, segment.size, segment.base_offset, selection)
            if not storage.fetch_part(copy.directory, path, segment.size, range(*reach)):
                continue  # it has another size by now, and was fetched whole
            if not _is_enough(path, segment.base_offset, selection, reach):
                storage.fetch_part(copy.directory, path, segment.size, range(segment.size))
        yield directory


def _is_enough(path: Path, base_offset: int, selection: Selection, reach: ByteBounds) -> bool:
    """Whether what was fetched shows that nothing else is asked for."""
    try:
        with LogFile.open(path) as log:
            if reach == ByteBounds(0, log.size):
                return True
            bounds = byte_bounds(log, path, base_offset, selection)
            if bounds.start < reach.start or bounds.end > reach.end:
                return False
            scan = PartScan(bounds.start, bounds.end).scan
            pieces = read_pieces(log, scan, bounds.start) if bounds.start < bounds.end else ()
            # A batch that goes on beyond what was fetched has another checksum.
            return all(not isinstance(piece, DamagedBytes) and piece.crc_valid.all() for piece in pieces)
    except (LogStoreError, OSError):
        return False
