"""One door to the directories of snapshots: local ones, and all that pyarrow reads (s3, gs, hdfs)."""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit, urlunsplit

from pyarrow import ArrowException
from pyarrow.fs import FileSelector, FileSystem, FileType

from epoch.filesystem import REAL
from logstore.errors import NotALogDirectoryError
from logstore.offline.directory_listing import list_directory
from logstore.shown_text import shown
from logstore.text.address_secrets import redacted, take_in
from replication.errors import UnreadableLocationError

Files = dict[str, int]
"""Sizes in bytes by file name."""


class Unlisted(Files):
    """The files of a directory that could not be listed: none are known."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason: str = reason


CHUNK: Final = 8 << 20
"""Bytes of one read while a remote file is copied."""
DEPTH: Final = 2
"""Levels below what is named: roots in it, and partitions in those."""


class StoredFile(NamedTuple):
    """What changes with a file's contents."""

    size: int
    """Bytes."""
    modified_ns: int
    """Nanoseconds since 1970 UTC."""


class Place(NamedTuple):
    """A remote directory as pyarrow has it."""

    filesystem: FileSystem
    path: str


@dataclass(frozen=True, slots=True)
class StandIn:
    """A file with the size of another, and some of its bytes; the rest is zero, and takes no room on the disk."""

    size: int
    pieces: tuple[tuple[int, bytes], ...]
    """Positions, and what stands there."""

    def make(self, path: Path) -> None:
        """Write it. Raises OSError."""
        with open(path, "wb") as file:
            file.truncate(self.size)
            for position, data in self.pieces:
                file.seek(position)
                file.write(data)


NO_STAND_INS: Final[Mapping[str, StandIn]] = {}


@dataclass(frozen=True)
class Storage:
    """A directory, wherever it is: a path, or a URI such as `s3://bucket/backups/broker-1?region=eu-west-1`.

    What follows the `?` are pyarrow's options of the file system, such as `endpoint_override` and `scheme`.
    """

    uri: str

    def __post_init__(self) -> None:
        take_in(self.uri)

    @property
    def is_local(self) -> bool:
        """Whether it can be read where it is."""
        return urlsplit(self.uri).scheme in {"", "file"} or self.uri.startswith("/")

    @property
    def path(self) -> Path:
        """Where a local directory is."""
        return _path_of(self.uri)

    @property
    def name(self) -> str:
        """The last part of its path, fit to be seen."""
        return self.parts[-1] if self.parts else self.uri

    @property
    def parts(self) -> tuple[str, ...]:
        """All parts of its path, fit to be seen, the bucket first where there is one."""
        if self.is_local:
            return tuple(shown(part) for part in self.path.absolute().parts if part != os.sep)
        split = urlsplit(self.uri)
        return tuple(shown(part) for part in (split.hostname or "", *split.path.split("/")) if part)

    @property
    def shown(self) -> str:
        """The URI without what may be secret: user, password, and options."""
        split = urlsplit(self.uri)
        return shown(str(self.path)) if self.is_local else f"{split.scheme}://{'/'.join(self.parts)}"

    def absolute(self) -> "Storage":
        """Return the same directory, named so that it means the same to every process of this machine."""
        return Storage(_uri_of(self.path.absolute())) if self.is_local else self

    def child(self, relative: str) -> "Storage":
        """Return a directory below this one; "" is this one."""
        if not relative:
            return self
        if self.is_local:
            return Storage(_uri_of(self.path / relative))
        split = urlsplit(self.uri)
        return Storage(urlunsplit(split._replace(path=f"{split.path.rstrip('/')}/{relative}")))

    @property
    def parent(self) -> "Storage":
        """The directory that this one is in."""
        if self.is_local:
            return Storage(_uri_of(self.path.parent))
        split = urlsplit(self.uri)
        return Storage(urlunsplit(split._replace(path=split.path.rstrip("/").rpartition("/")[0])))

    def tree(self, depth: int = DEPTH) -> dict[str, Files]:
        """List the files of this directory and of those below it, `depth` levels deep, by their relative paths.

        The directory itself is "". Links out of a local one are left out; what cannot be listed below it is Unlisted.
        Raises UnreadableLocationError.
        """
        if not self.is_local:
            return self._remote_tree(depth)
        try:
            return dict(_local_tree(self.path, self.path, "", depth))
        except (OSError, NotALogDirectoryError) as error:
            raise UnreadableLocationError(self.shown, error) from error

    def files(self, suffix: str = "") -> Files:
        """List the files of this directory alone, as `tree` does, those at least whose names end with `suffix`.

        Raises UnreadableLocationError.
        """
        if not self.is_local:
            return self.tree(depth=0)[""]
        try:
            with os.scandir(self.path) as entries:
                found = [entry for entry in entries if entry.name.endswith(suffix)]
            if not any(entry.is_symlink() for entry in found):
                return {entry.name: entry.stat().st_size for entry in found if entry.is_file()}
        except FileNotFoundError:
            pass  # a file is gone by now, or the directory is
        except OSError as error:
            raise UnreadableLocationError(self.shown, error) from error
        return self.tree(depth=0)[""]

    def read(self, name: str, limit: int) -> bytes:
        """Read at most `limit` bytes of a file. Raises OSError."""
        if self.is_local:
            with open(self.path / name, "rb") as file:
                return file.read(limit)
        place = self._place
        with _without_secrets(), place.filesystem.open_input_stream(f"{place.path}/{name}") as stream:
            return bytes(stream.read(limit))

    def read_at(self, name: str, position: int, size: int) -> bytes:
        """Read at most `size` bytes of a file from a position on. Raises OSError."""
        if self.is_local:
            with open(self.path / name, "rb", buffering=0) as file:
                return os.pread(file.fileno(), size, position)
        place = self._place
        with _without_secrets(), place.filesystem.open_input_file(f"{place.path}/{name}") as file:
            return bytes(file.read_at(size, position))

    def stored_files(self) -> dict[str, StoredFile]:
        """Look at the files of this directory, of which there are none where it is gone. Raises OSError."""
        if self.is_local:
            try:
                with os.scandir(self.path) as entries:
                    return {entry.name: stored for entry in entries if (stored := _stored(entry)) is not None}
            except FileNotFoundError:
                return {}
        filesystem, base = self._place
        with _without_secrets():
            entries = filesystem.get_file_info(FileSelector(base, allow_not_found=True))
        return {
            entry.base_name: StoredFile(entry.size, entry.mtime_ns or 0)
            for entry in entries
            if entry.type is FileType.File
        }

    def write(self, name: str, data: bytes, *, durably: bool = True) -> None:
        """Give a file new contents, all at once; the directory is made where it is missing. Raises OSError.

        What is not written `durably` may be lost, or torn, when the power is.
        """
        if not self.is_local:
            filesystem, base = self._place
            with _without_secrets():
                filesystem.create_dir(base, recursive=True)
                with filesystem.open_output_stream(f"{base}/{name}") as stream:
                    stream.write(data)
            return
        directory = self.path
        directory.mkdir(parents=True, exist_ok=True)
        if durably:
            REAL.write_atomically(directory / name, data)
            return
        with tempfile.NamedTemporaryFile(dir=directory, prefix=f"{name}.", suffix=".tmp", delete=False) as file:
            try:
                file.write(data)
                file.flush()
                os.replace(file.name, directory / name)  # noqa: PTH105  a name as it is
            except BaseException:
                os.unlink(file.name)  # noqa: PTH108  as above
                raise

    def remove(self, name: str) -> None:
        """Remove a file, if it is there. Raises OSError."""
        if self.is_local:
            (self.path / name).unlink(missing_ok=True)
            return
        filesystem, base = self._place
        with suppress(FileNotFoundError), _without_secrets():
            filesystem.delete_file(f"{base}/{name}")

    @contextmanager
    def local_copy(
        self,
        directory: str,
        *,
        only: Collection[str] | None = None,
        stand_ins: Mapping[str, StandIn] = NO_STAND_INS,
        root: Path | None = None,
    ) -> Iterator[Path]:
        """Enter the directory of a partition below this root, as a local path whose parent is the root; "" is the root.

        Of a remote one the files, and those of the root itself, are copied for as long as it is entered; `only` names
        those that are needed, and `stand_ins` are made instead of those of their names. Where `root` is a local
        directory that stands for this one already, as `own_files` makes it, the directory alone is copied, into that.
        Raises OSError, FileNotFoundError where the directory is gone.
        """
        if self.is_local:
            yield self.path / directory
            return
        if root is None:
            with self.own_files() as place:
                for name in () if directory else self._directories():
                    (place / name).mkdir()
                with self.local_copy(directory, only=only, stand_ins=stand_ins, root=place) as target:
                    yield target
            return
        if not directory:
            yield root
            return
        target = root / directory
        target.mkdir()
        try:
            with _without_secrets():
                if not self._copy_files(directory, target, only, stand_ins):
                    raise FileNotFoundError(None, "no such directory", self.child(directory).shown)
            yield target
        finally:
            shutil.rmtree(target, ignore_errors=True)

    @contextmanager
    def own_files(self) -> Iterator[Path]:
        """Enter a local directory with the files of this remote one, without the directories in it. Raises OSError."""
        with tempfile.TemporaryDirectory(prefix="epochlog-", dir=_scratch_directory()) as scratch:
            place = Path(scratch) / self.name
            place.mkdir()
            with _without_secrets():
                self._copy_files("", place, None)
            yield place

    @cached_property
    def _place(self) -> Place:
        try:
            with _without_secrets():
                return Place(*FileSystem.from_uri(self.uri))
        except OSError as error:
            raise UnreadableLocationError(self.shown, error) from error

    def _remote_tree(self, depth: int) -> dict[str, Files]:
        """List all with one walk: a request for each directory would take hours with many partitions."""
        filesystem, base = self._place
        tree: dict[str, Files] = {"": {}}
        try:
            with _without_secrets():
                entries = filesystem.get_file_info(FileSelector(base, recursive=depth > 0))
        except OSError as error:
            raise UnreadableLocationError(self.shown, error) from error
        for entry in entries:
            relative = entry.path[len(base.rstrip("/")) + 1 :]
            directory, _, name = relative.rpartition("/")
            levels = directory.count("/") + 1 if directory else 0
            if entry.type is FileType.File and levels <= depth:
                tree.setdefault(directory, {})[name] = entry.size
        return tree

    def _directories(self) -> list[str]:
        filesystem, base = self._place
        with _without_secrets():
            entries = filesystem.get_file_info(FileSelector(base))
        return [entry.base_name for entry in entries if entry.type is FileType.Directory]

    def _copy_files(
        self,
        directory: str,
        target: Path,
        only: Collection[str] | None,
        stand_ins: Mapping[str, StandIn] = NO_STAND_INS,
    ) -> int:
        """Copy the files of a directory, and return how many there are."""
        filesystem, base = self._place
        selector = FileSelector(f"{base}/{directory}" if directory else base, allow_not_found=True)
        files = [entry for entry in filesystem.get_file_info(selector) if entry.type is FileType.File]
        for entry in files:
            if entry.base_name in stand_ins:
                stand_ins[entry.base_name].make(target / entry.base_name)
            elif only is None or entry.base_name in only:
                _copy(filesystem, entry.path, target / entry.base_name)
        return len(files)


@contextmanager
def _without_secrets() -> Iterator[None]:
    """Let no error of a store say what is secret in the address. Raises OSError."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, redacted(error.strerror or str(error)), error.filename) from None
    except (OSError, ArrowException) as error:
        raise OSError(redacted(str(error))) from None


def _stored(entry: os.DirEntry[str]) -> StoredFile | None:
    """Look at one entry of a directory; None where it is no file, or is gone by now."""
    try:
        stat = entry.stat() if entry.is_file() else None
    except FileNotFoundError:
        return None
    return StoredFile(stat.st_size, stat.st_mtime_ns) if stat else None


@lru_cache(1024)  # copies of one root are asked for its path again and again
def _path_of(uri: str) -> Path:
    return Path(os.fsdecode(unquote_to_bytes(urlsplit(uri).path)) if uri.startswith("file:") else uri)


def _uri_of(path: Path) -> str:
    """Name a local directory: by its path, or where that is no text, by a URI that is."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return path.absolute().as_uri()
    return str(path)


def _copy(filesystem: FileSystem, source: str, target: Path) -> None:
    with filesystem.open_input_stream(source) as stream, open(target, "wb") as file:
        while block := stream.read(CHUNK):
            file.write(block)


def _local_tree(path: Path, root: Path, relative: str, depth: int) -> Iterator[tuple[str, Files]]:
    listing = list_directory(path, root=root)
    yield relative, {name: listing.states[name].size for name in listing.files}
    if not depth:
        return
    for name, directory in listing.directories.items():
        below = f"{relative}/{name}" if relative else name
        try:
            yield from list(_local_tree(directory, root, below, depth - 1))
        except NotALogDirectoryError:  # it is gone by now
            yield below, {}
        except OSError as error:
            yield below, Unlisted(error.strerror or str(error))


def _scratch_directory() -> str | None:
    """Where Spark keeps what is large and temporary, if it says so."""
    named = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return named if named and os.path.isdir(named) else None  # noqa: PTH112  a plain string of Spark's
