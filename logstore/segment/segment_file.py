"""The `.log` file of a segment that is in use: one thread appends, any thread reads it through a mapping."""

from contextlib import suppress
from pathlib import Path
from threading import Lock, RLock
from typing import Final

from epoch.filesystem import REAL, FileSystem
from logstore.files.mapped_files import begin_file, cut_file, map_file
from logstore.segment.open_files import OpenFiles

_NOTHING: Final = memoryview(b"")


class SegmentFile:
    """Opened and mapped on its first use, and closed again by `OpenFiles` when it has not been used for long.

    Whoever holds a view of the bytes keeps them, whatever happens to the file: it is never cut under a mapping.
    """

    __slots__ = (
        "_cuts",
        "_descriptor",
        "_filesystem",
        "_lock",
        "_map_lock",
        "_open_files",
        "_retired",
        "_syncs",
        "_view",
        "path",
        "size",
        "used",
    )

    def __init__(
        self, path: Path, size: int = 0, *, filesystem: FileSystem = REAL, open_files: OpenFiles | None = None
    ) -> None:
        """Take over a file of `size` bytes; it need not exist yet where that is 0."""
        self.path: Path = path
        self.size: int = size
        """Bytes that readers may look at: set once they are written."""
        self.used: bool = False
        self._filesystem = filesystem
        self._open_files = open_files
        # Guards the descriptor, and which bytes are in the file; taken before the lock of OpenFiles.
        self._lock = Lock()
        # Guards the mapping; taken after `_lock`. Readers take it alone, and again in a signal handler.
        self._map_lock = RLock()
        self._cuts = 0
        self._syncs = 0
        """How many threads wait for the disk, each of them with a descriptor that nobody may close."""
        self._retired: list[int] = []
        """Descriptors to close after that."""
        self._descriptor = -1
        self._view = _NOTHING

    @property
    def cuts(self) -> int:
        """How often bytes were taken away: while this stays the same, those that are there do too."""
        return self._cuts

    def create(self) -> None:
        """Make the file, empty. Raises OSError."""
        with self._lock:
            self._descriptor = begin_file(self._filesystem, self.path)
            self._register()

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Write all of `data` at the end. Raises OSError; `truncate_to` then takes away what was written of it."""
        with self._lock:
            descriptor = self._descriptor
            if descriptor < 0:
                descriptor = self._open()
            try:
                self._filesystem.write(descriptor, data)
            except OSError as error:
                error.filename = str(self.path)
                raise
            self.size += len(data)
        self.used = True

    def data(self) -> memoryview:
        """Return a view of the file's first `size` bytes, or of more. Raises OSError."""
        self.used = True
        view = self._view
        return view if len(view) >= self.size else self._map()

    def flush(self) -> None:
        """Return once the content is on stable storage. Raises OSError."""
        descriptor = self.begin_sync()
        try:
            self._filesystem.fsync(descriptor)
        finally:
            self.end_sync()

    def begin_sync(self) -> int:
        """Return a descriptor for fsync, which stays open until `end_sync`: whatever happens to the file meanwhile."""
        with self._lock:
            descriptor = self._descriptor if self._descriptor >= 0 else self._open()
            self._syncs += 1
            return descriptor

    def end_sync(self) -> None:
        """Close what had to stay open. Raises OSError."""
        with self._lock:
            self._syncs -= 1
            self._close_retired()

    def truncate_to(self, size: int) -> None:
        """Cut the file, unless a reader still holds its bytes: then a copy of what is kept takes its place.

        Readers that are about to take a view find it released (ValueError) and ask again. What a write that was broken
        off has left beyond the file's size goes too. Raises OSError.
        """
        with self._lock, self._map_lock:
            size = min(size, self.size)
            if self.path.stat().st_size <= size:
                return
            self._unmap()
            # A copy may take the file's place, which the descriptor would not lead to.
            self._close()
            try:
                cut_file(self._filesystem, self.path, size)
                self.size = size
            finally:
                # Of the file as it was: a signal handler may have looked.
                self._cuts += 1
                self._view = _NOTHING

    def release(self) -> bool:
        """Give back descriptor and mapping until the next use; readers keep what they hold."""
        # Waiting for neither: the caller holds the lock of OpenFiles, which the other may wait for.
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if not self._map_lock.acquire(blocking=False):
                return False
            try:
                self._close()
            finally:
                self._map_lock.release()
        finally:
            self._lock.release()
        return True

    def close(self) -> None:
        """Give back descriptor and mapping for good. Raises OSError."""
        with self._lock:
            self._close()
        if self._open_files is not None:
            self._open_files.closed(self)

    def rename(self, path: Path) -> None:
        """Give the file another name. Raises OSError."""
        with self._lock, self._map_lock:
            self._filesystem.rename(self.path, path)
            self.path = path

    # --- with the lock held, that of mappings by `_map`

    def _open(self) -> int:
        self._descriptor = self._filesystem.open(self.path)
        self._register()
        return self._descriptor

    def _map(self) -> memoryview:
        with self._map_lock:
            while len(self._view) < self.size:
                cuts = self._cuts
                view = map_file(self.path, self.size)
                if cuts == self._cuts:  # no signal handler has cut the file meanwhile
                    self._view = view
                    self._register()
                    return view
            return self._view

    def _unmap(self) -> None:
        """Let go of the mapping, which then is that of readers alone."""
        if self._view is not _NOTHING:  # which all files share
            with suppress(BufferError):  # a reader is at work on it
                self._view.release()
            self._view = _NOTHING

    def _close(self) -> None:
        with self._map_lock:
            self._view = _NOTHING
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            self._retired.append(descriptor)
        self._close_retired()

    def _close_retired(self) -> None:
        while self._retired and not self._syncs:
            self._filesystem.close(self._retired.pop())

    def _register(self) -> None:
        if self._open_files is not None:
            self._open_files.opened(self)
