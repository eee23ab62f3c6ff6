"""The `.log` file of a segment that is in use: one thread appends, any thread reads it, by a mapping or a copy."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock, RLock
from typing import Final
from weakref import ref

from epoch.filesystem import REAL, FileSystem
from logstore.files.mapped_files import begin_file, cut_file, map_file
from logstore.segment.open_files import OpenFiles

_NOTHING: Final = memoryview(b"")
_NO_TAIL: Final = (_NOTHING, 0, -1)
LARGEST_COPY = 256 << 10
"""Bytes: for more than that the file is mapped at once."""
MOST_COPIED = 8 << 20
"""Bytes in all, before the file is mapped once more: fewer than one in a hundred reads behind appends waits for it.

They take as long to copy as a few mappings.
"""


class OpenDescriptor:
    """A descriptor that stays open while this object is referenced."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int) -> None:
        """Stand for what was opened."""
        self.number: int = number


class SegmentFile:
    """Opened and mapped on its first use, and closed again by `OpenFiles` when it has not been used for long.

    Whoever holds a view of the bytes keeps them, whatever happens to the file: it is never cut under a mapping.
    """

    __slots__ = (
        "_copied",
        "_cuts",
        "_descriptor",
        "_filesystem",
        "_map_lock",
        "_open_files",
        "_reading",
        "_retired",
        "_syncs",
        "_tail",
        "_view",
        "direct",
        "lock",
        "path",
        "size",
        "used",
        "was_cut",
    )

    def __init__(
        self, path: Path, size: int = 0, *, filesystem: FileSystem = REAL, open_files: OpenFiles | None = None
    ) -> None:
        """Create it for a file of `size` bytes, which need not exist yet if that is 0."""
        self.path: Path = path
        self.size: int = size
        """Bytes that readers may look at: set once they are written."""
        self.used: bool = False
        self.was_cut: bool = False
        """Whether bytes were cut off that a loss of power may bring back, in the place of those that followed them."""
        self._filesystem = filesystem
        self._open_files = open_files
        self.lock: Lock = Lock()
        """Guards the descriptor, and which bytes are in the file; taken before the lock of OpenFiles."""
        # Guards the mapping; taken after `lock`. Readers take it alone, and again in a signal handler.
        self._map_lock = RLock()
        self._cuts = 0
        self._syncs = 0
        """How many threads wait for the disk, each of them with a descriptor that nobody may close."""
        self._retired: list[tuple[int, Callable[[], object]]] = []
        """Descriptors to close after that, and who may still read by them: None once nobody does."""
        self._descriptor = -1
        self._reading: OpenDescriptor | None = None
        """The same, for those who read without a lock."""
        self.direct: int = -1
        """The same, for who holds the lock and writes past the file system; -1 while that must not be."""
        self._view = _NOTHING
        self._copied = 0
        """Bytes that were copied since the file was mapped."""
        self._tail: tuple[memoryview, int, int] = _NO_TAIL
        """The latest of these copies, which serves all who read there: where it begins, and `cuts` by then."""

    @property
    def cuts(self) -> int:
        """How often bytes were taken away: while this stays the same, those that are there do too."""
        return self._cuts

    def create(self) -> None:
        """Make the file, empty. Raises OSError."""
        with self.lock:
            self._descriptor = begin_file(self._filesystem, self.path)
            self._opened()

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Write all of `data` at the end. Raises OSError; `truncate_to` then takes away what was written of it."""
        with self.lock:
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

    def mapped(self, size: int) -> memoryview | None:
        """Return a view of the file's first `size` bytes, or of more, where they are mapped already."""
        self.used = True
        view = self._view
        return view if len(view) >= size else None

    def mapped_part(self) -> memoryview:
        """Return a view of what is mapped already, which may be less than is in the file."""
        self.used = True
        return self._view

    def between(self, position: int, size: int) -> tuple[memoryview, int]:
        """Return the bytes from `position` to `size`, and perhaps some around them, and where these begin.

        Those that are not mapped yet are copied, as long as that takes less time than mapping the file anew: who reads
        behind the appends would map it after each. Raises OSError.
        """
        tail, begin, cuts = self._tail
        if begin <= position and begin + len(tail) >= size and cuts == self._cuts:
            return tail, begin
        copied = self._copy(position, size - position)
        return (self.data(), 0) if copied is None else (copied, position)

    def beginning(self, length: int) -> bytes:
        """Return a copy of the file's first bytes, for whoever is about to write to it. Raises OSError."""
        with self.lock:
            descriptor = self._descriptor if self._descriptor >= 0 else self._open()
            try:
                return self._filesystem.read_at(descriptor, 0, min(length, self.size))
            except OSError as error:
                error.filename = str(self.path)
                raise

    def flush(self) -> None:
        """Return once the content is on stable storage. Raises OSError."""
        descriptor = self.begin_sync()
        try:
            self._filesystem.fsync(descriptor)
        finally:
            self.end_sync()

    def begin_sync(self) -> int:
        """Return a descriptor for fsync, which stays open until `end_sync`: whatever happens to the file meanwhile."""
        with self.lock:
            descriptor = self._descriptor if self._descriptor >= 0 else self._open()
            self._syncs += 1
            return descriptor

    def end_sync(self) -> None:
        """Close what had to stay open. Raises OSError."""
        with self.lock:
            self._syncs -= 1
            self._close_retired()

    def truncate_to(self, size: int) -> None:
        """Cut the file, unless a reader still holds its bytes: then a copy of what is kept takes its place.

        Readers that are about to take a view find it released (ValueError) and ask again. What a write that was broken
        off has left beyond the file's size goes too. Raises OSError.
        """
        with self.lock, self._map_lock:
            size = min(size, self.size)
            if self.path.stat().st_size <= size:
                return
            self._unmap()
            self._cut(size)

    def take_back(self, size: int) -> None:
        """Cut off what no reader knows of, such as a part of a batch that found no space. Raises OSError.

        Readers go on meanwhile: what is mapped stays so, unless it reaches into what is cut.
        """
        with self.lock, self._map_lock:
            size = min(size, self.size)
            if self.path.stat().st_size <= size:
                return
            if len(self._view) > size:
                self._cut(size)
            else:
                self.was_cut = True
                self._filesystem.truncate(self.path, size)
                self.size = size

    def release(self) -> bool:
        """Give back descriptor and mapping until the next use; readers keep what they hold."""
        # Waiting for neither: the caller holds the lock of OpenFiles, which the other may wait for.
        if not self.lock.acquire(blocking=False):
            return False
        try:
            if not self._map_lock.acquire(blocking=False):
                return False
            try:
                self._close()
            finally:
                self._map_lock.release()
        finally:
            self.lock.release()
        return True

    def close(self) -> None:
        """Give back descriptor and mapping for good. Raises OSError."""
        with self.lock:
            self._close()
        self._close_unused()
        if self._open_files is not None:
            self._open_files.closed(self)

    def rename(self, path: Path) -> None:
        """Give the file another name. Raises OSError. May be called again where it is broken off itself."""
        with self.lock, self._map_lock:
            if self.path.exists() or not path.exists():
                self._filesystem.rename(self.path, path)
            self.path = path

    # --- without a lock

    def _copy(self, position: int, length: int) -> memoryview | None:
        """Read bytes without a lock, which a writer may hold for long; None where the file is to be mapped."""
        cuts = self._cuts  # before the descriptor: a cut may put another file in its place
        opened = self._reading
        if opened is None or length > LARGEST_COPY or self._copied + length > MOST_COPIED:
            return None
        try:
            data = self._filesystem.read_at(opened.number, position, length)
        except OSError as error:
            error.filename = str(self.path)
            raise
        finally:
            del opened
            self._close_unused()
        if len(data) < length or cuts != self._cuts:
            return None  # cut meanwhile, which a mapping waits for; or by another process, and it tells so
        self._copied += length
        copied = memoryview(data)
        self._tail = copied, position, cuts
        return copied

    def _close_unused(self) -> None:
        """Close what had to stay open, unless another thread is about to."""
        # Looked at again once the lock is free: who has found it taken meanwhile has left it to this thread.
        while self._retired and self._unused() and self.lock.acquire(blocking=False):
            try:
                self._close_retired()
            finally:
                self.lock.release()

    # --- with the lock held, that of mappings by `_map`

    def _open(self) -> int:
        self._descriptor = self._filesystem.open(self.path)
        self._opened()
        return self._descriptor

    def _opened(self) -> None:
        self._reading = OpenDescriptor(self._descriptor)
        if self._filesystem.is_real:
            self.direct = self._descriptor
        self._register()

    def _map(self) -> memoryview:
        with self._map_lock:
            while len(self._view) < self.size:
                cuts = self._cuts
                view = map_file(self.path, self.size)
                if cuts == self._cuts:  # no signal handler has cut the file meanwhile
                    self._view, self._copied, self._tail = view, 0, _NO_TAIL
                    self._register()
                    return view
            return self._view

    def _unmap(self) -> None:
        """Release the mapping, which then belongs to readers alone."""
        if self._view is not _NOTHING:  # which all files share
            with suppress(BufferError):  # a reader is at work on it
                self._view.release()
            self._view = _NOTHING

    def _cut(self, size: int) -> None:
        # A copy may take the file's place, which the descriptor would not lead to.
        self._close()
        self.was_cut = True
        try:
            cut_file(self._filesystem, self.path, size)
            self.size = size
        finally:
            # Of the file as it was: a signal handler may have looked.
            self._cuts += 1
            self._view = _NOTHING

    def _close(self) -> None:
        with self._map_lock:
            self._view, self._tail = _NOTHING, _NO_TAIL
        self.direct = -1  # first: whatever is raised in between, nobody writes to what is to be closed
        descriptor, self._descriptor = self._descriptor, -1
        opened, self._reading = self._reading, None
        if descriptor >= 0:
            self._retired.append((descriptor, _nobody if opened is None else ref(opened)))
        del opened
        self._close_retired()

    def _close_retired(self) -> None:
        for retired in self._unused():
            self._retired.remove(retired)
            self._filesystem.close(retired[0])

    def _unused(self) -> list[tuple[int, Callable[[], object]]]:
        return [] if self._syncs else [retired for retired in self._retired if retired[1]() is None]

    def _register(self) -> None:
        if self._open_files is not None:
            self._open_files.opened(self)


def _nobody() -> None:
    """Refer to nothing, as a weak reference does in the end."""
