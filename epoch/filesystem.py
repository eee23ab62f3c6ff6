"""The one door to the disk: every write, fsync, rename and directory fsync passes through here.

So does what is read of a file that is being appended to; other files are opened and mapped by those who read them.

Tests put a recording or failing `FileSystem` in its place, and replay every prefix of what was done as a crash. Only
while nothing is in its place (`is_real`) compiled code may write to a file itself.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from epoch.base.resource_limits import refuse_beyond_limit

_LARGEST_COPY: Final = 1 << 30
"""Bytes that one system call copies."""


class FileSystem:
    """The real disk. Each method is one step that a crash can fall before or after; all raise OSError."""

    @property
    def is_real(self) -> bool:
        """Whether compiled code may write to a descriptor itself: what takes the real disk's place would not see it."""
        return type(self) is FileSystem

    def open(self, path: Path, *, truncate: bool = False) -> int:
        """Open a file for appending and reading, creating it where it is missing; return its descriptor."""
        emptied = os.O_TRUNC if truncate else 0
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | emptied, 0o644)
        except OSError as error:
            refuse_beyond_limit(error, path)
            raise

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        """Append all of `data`."""
        written = os.write(descriptor, data)
        while written < len(data):
            written += os.write(descriptor, memoryview(data)[written:])

    def overwrite(self, path: Path, position: int, data: bytes, *, sync: bool = False) -> None:
        """Put `data` in the place of a file's bytes, which is made if missing; with `sync` on stable storage, too."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.pwrite(descriptor, data, position)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read_at(self, descriptor: int, position: int, size: int) -> bytes:
        """Return `size` bytes of a file from `position` on; fewer where it ends before."""
        return os.pread(descriptor, size, position)

    def fsync(self, descriptor: int) -> None:
        """Return once the file's content is on stable storage."""
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        """Give the descriptor back."""
        os.close(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        """Put `source` in the place of `target`, atomically."""
        source.replace(target)

    def copy(self, source: Path, target: Path) -> None:
        """Make a new file with the content of another; where the file system can, both share the blocks on disk."""
        from shutil import copyfileobj  # noqa: PLC0415  start-up time

        with open(source, "rb", buffering=0) as original, open(target, "xb", buffering=0) as copied:
            with suppress(AttributeError, OSError):  # macOS has no such call, and some file systems refuse it
                while os.copy_file_range(original.fileno(), copied.fileno(), _LARGEST_COPY):
                    pass
            copyfileobj(original, copied)

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name; neither may be changed in place from then on."""
        target.hardlink_to(source)

    def set_modified(self, path: Path, modified_ns: int) -> None:
        """Set a file's time of last modification, in nanoseconds since 1970 UTC."""
        os.utime(path, ns=(modified_ns, modified_ns))

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file to its first `size` bytes."""
        os.truncate(path, size)

    def unlink(self, path: Path) -> None:
        """Remove a file."""
        path.unlink()

    def mkdir(self, path: Path) -> None:
        """Make a directory; its parent must exist."""
        try:
            path.mkdir()
        except FileNotFoundError as error:  # it names what was to be made, and not what is missing
            error.add_note(f"{path.parent} does not exist: make it first, or correct the path")
            raise

    def make_directories(self, path: Path) -> None:
        """Make a directory and those above it that are missing, all of them durably."""
        missing = [place for place in (path, *path.parents) if not place.exists()]
        for place in reversed(missing):
            with suppress(FileExistsError):  # another thread makes it too
                self.mkdir(place)
            self.fsync_directory(place.parent)

    def make_private_directories(self, path: Path, mode: int = 0o700) -> None:
        """Make a directory and those above it that are missing so that others may not write them, or read them."""
        for place in reversed([place for place in (path, *path.parents) if not place.exists()]):
            with suppress(FileExistsError):  # another process makes it too
                place.mkdir(mode)

    def rmdir(self, path: Path) -> None:
        """Remove an empty directory."""
        path.rmdir()

    def remove_tree(self, directory: Path) -> None:
        """Remove a directory with all that is in it; links are removed, and not followed."""
        with os.scandir(directory) as entries:
            listed = [(Path(entry.path), entry.is_dir(follow_symlinks=False)) for entry in entries]
        for path, is_directory in listed:
            if is_directory:
                self.remove_tree(path)
            else:
                self.unlink(path)
        self.rmdir(directory)

    def fsync_directory(self, path: Path) -> None:
        """Return once the directory's names are on stable storage."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            refuse_beyond_limit(error, path)
            raise
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def write_atomically(self, path: Path, data: bytes) -> None:
        """Give `path` new content so that a crash leaves the old or the new, whole, never a mixture.

        Once this returns, the new content survives a crash (Kafka: CheckpointFile.write). A failure on the way
        may leave `<path>.tmp` behind; the next write replaces it.
        """
        self.replace(path, data, path.with_name(f"{path.name}.tmp"))
        self.fsync_directory(path.parent)

    def replace(self, path: Path, data: bytes, temporary: Path) -> None:
        """Replace by way of a file named `temporary`; once the directory is synced too, the new content is durable."""
        descriptor = self.open(temporary, truncate=True)
        try:
            self.write(descriptor, data)
            self.fsync(descriptor)
        except OSError as error:
            # The system was only told a descriptor.
            error.filename = error.filename or str(path)
            raise
        finally:
            self.close(descriptor)
        self.rename(temporary, path)


REAL: Final = FileSystem()
"""The file system that production uses."""


def new_part(path: Path) -> Path:
    """Return a hidden name beside `path` for what takes that name once it is whole; another one with each call.

    A process's id would not do: in containers it is 1 again and again, and what was left by one that was killed, or is
    being written by another one, would be gone on with.
    """
    return path.with_name(f".{path.name}.{os.urandom(6).hex()}.part")
