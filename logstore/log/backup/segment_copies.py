"""Brings the segments of a log into a backup: those that are there stay, and the others are copied."""

import os
import time
from pathlib import Path
from typing import Final

from epoch.filesystem import FileSystem
from logstore.file_name import INDEX_KINDS, FileKind, file_name
from logstore.log.backup.backup_place import remove_if_there
from logstore.segment.live_segment import LiveSegment

_SETTLED_NS: Final = 2_000_000_000
"""A file that was changed so long ago shows its next change by another time, however coarse the system's clock is."""
_WRITE_BYTES: Final = 1 << 24


class SegmentCopies:
    """The segments in `target`, which is not yet whole; `previous` is an earlier backup, with the same names.

    A copy is never a link to the log's own file, which may be cut and appended to in place. Where the file system can,
    both share their blocks. A segment that the log has closed is taken from the earlier backup by a link: those two
    belong to nobody else, and the earlier one is removed as the new one takes its place.
    """

    def __init__(self, target: Path, previous: Path | None, filesystem: FileSystem) -> None:
        """Copy nothing yet."""
        self._target = target
        self._previous = previous
        self._filesystem = filesystem
        self._done: dict[str, tuple[LiveSegment, int, int]] = {}
        """What this call has brought: by name, of which segment, its cuts and its bytes."""
        self.copied_bytes: int = 0
        self.kept_bytes: int = 0

    def bring_closed(self, segment: LiveSegment, size: int) -> None:
        """Bring a closed segment with its indexes. Raises OSError, and FileNotFoundError if it was deleted."""
        if self._bring_log(segment, size, is_closed=True):
            return
        for kind in INDEX_KINDS:
            source, name = segment.path.with_name(file_name(kind, segment.base_offset)), self._name(kind, segment)
            self.bring_small(name, source.read_bytes() if source.exists() else b"", is_needed=source.exists())

    def bring_active(self, segment: LiveSegment, size: int, indexes: dict[FileKind, bytes]) -> None:
        """Bring the first `size` bytes of the active segment, and its indexes. Raises OSError."""
        self._bring_log(segment, size, is_closed=False)
        for kind, data in indexes.items():
            # There is one of transactions only where some were aborted.
            is_needed = bool(data) or kind is not FileKind.TRANSACTION_INDEX
            self.bring_small(self._name(kind, segment), data, is_needed=is_needed)

    def bring_small(self, name: str, data: bytes, *, is_needed: bool = True) -> None:
        """Write a small file, or remove the one that is there. Raises OSError."""
        path = self._target / name
        if not is_needed:
            remove_if_there(path, self._filesystem)
        elif not path.is_file() or path.read_bytes() != data:
            self._filesystem.replace(path, data, self._temporary(name))
            self.copied_bytes += len(data)

    def _bring_log(self, segment: LiveSegment, size: int, *, is_closed: bool) -> bool:
        """Bring a `.log` file; return whether its indexes came along."""
        name = self._name(FileKind.LOG, segment)
        stat = segment.path.stat() if size or is_closed else None
        cuts = segment.file.cuts
        if self._done.get(name) != (segment, cuts, size):
            if stat is not None and _is_same(self._target / name, stat, size):
                self.kept_bytes += size
            elif stat is not None and is_closed and self._link(segment, stat, size):
                self.kept_bytes += size
                self._done[name] = segment, cuts, size
                return True
            else:
                self._copy(segment, size, stat, is_closed=is_closed)
            self._done[name] = segment, cuts, size
        return False

    def _link(self, segment: LiveSegment, stat: os.stat_result, size: int) -> bool:
        """Link a segment and its indexes from the earlier backup, if it has them and links can be made."""
        previous = self._previous
        if previous is None or not _is_same(previous / self._name(FileKind.LOG, segment), stat, size):
            return False
        for kind in (*INDEX_KINDS, FileKind.LOG):  # the log last: it says that all are there
            name, source = self._name(kind, segment), segment.path.with_name(self._name(kind, segment))
            earlier = previous / name
            if kind is not FileKind.LOG and _size(earlier) != _size(source):
                return False
            remove_if_there(self._target / name, self._filesystem)
            if earlier.exists():
                try:
                    self._filesystem.link(earlier, self._target / name)
                except OSError:  # not all file systems have links, and a file has only so many
                    return False
        return True

    def _copy(self, segment: LiveSegment, size: int, stat: os.stat_result | None, *, is_closed: bool) -> None:
        filesystem, name = self._filesystem, self._name(FileKind.LOG, segment)
        temporary = self._temporary(name)
        remove_if_there(temporary, filesystem)
        if is_closed:
            filesystem.copy(segment.path, temporary)
        descriptor = filesystem.open(temporary)
        try:
            if not is_closed:
                data = segment.file.data()[:size]
                for start in range(0, size, _WRITE_BYTES):
                    filesystem.write(descriptor, data[start : start + _WRITE_BYTES])
            filesystem.fsync(descriptor)
        finally:
            filesystem.close(descriptor)
        if stat is not None and stat.st_size == size and time.time_ns() - stat.st_mtime_ns > _SETTLED_NS:
            # By this the next backup knows the file.
            filesystem.set_modified(temporary, stat.st_mtime_ns)
        filesystem.rename(temporary, self._target / name)
        self.copied_bytes += size

    def _temporary(self, name: str) -> Path:
        return self._target / f"{name}.tmp"

    @staticmethod
    def _name(kind: FileKind, segment: LiveSegment) -> str:
        return file_name(kind, segment.base_offset)


def _is_same(copy: Path, stat: os.stat_result, size: int) -> bool:
    """Whether a file is the whole copy of the one that `stat` describes, which has not changed since."""
    try:
        known = os.lstat(copy)
    except FileNotFoundError:
        return False
    return known.st_size == stat.st_size == size and known.st_mtime_ns == stat.st_mtime_ns


def _size(path: Path) -> int:
    """Return a file's bytes; -1 where there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return -1
