"""One door to the directories of snapshots: local ones, and all that pyarrow reads (s3, gs, hdfs)."""

import hashlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import unquote_to_bytes, urlsplit, urlunsplit

from epoch.filesystem import REAL
from logstore.errors import NotALogDirectoryError
from logstore.file_name import INDEX_KINDS, FileKind, parse_file_name
from logstore.offline.directory_listing import list_directory
from logstore.shown_text import shown
from logstore.text.address_secrets import redacted, take_in
from replication.base.errors import UnreadableLocationError
from replication.copies.audit.snapshots.patience import Patience, patience_with
from replication.copies.audit.snapshots.transfer import AGREED, LOOKS, ONCE, block, blocks, fetched
from replication.copies.planning.broker_roots import LEVELS

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

Files = dict[str, int]
"""Sizes in bytes by file name."""


class Unlisted(Files):
    """The files of a directory that could not be listed: none are known."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason: str = reason


Altered = Callable[[str], object]
"""Called with the name of a file that was altered on its way, and then fetched as it is."""


def _untold(_name: str) -> None:
    pass


CHUNK: Final = 8 << 20
"""Bytes of one read while a remote file is copied."""
_CHECKED: Final = frozenset({FileKind.LOG, *INDEX_KINDS, FileKind.PRODUCER_SNAPSHOT})
"""Files that have checksums, or of which the log shows whether they are right."""
DEPTH: Final = LEVELS + 1
"""Levels below what is named: roots in it, or in directories in it, and partitions in those."""


class StoredFile(NamedTuple):
    """What changes with a file's contents."""

    size: int
    """Bytes."""
    modified_ns: int
    """Nanoseconds since 1970 UTC."""


class _Entry(NamedTuple):
    """A file or a directory in a remote one."""

    path: str
    type: str
    """As pyarrow's FileType names it."""
    stored: StoredFile

    @classmethod
    def of(cls, entry: "FileInfo") -> Self:
        """Create it from pyarrow's entry."""
        return cls(entry.path, entry.type.name, StoredFile(entry.size or 0, entry.mtime_ns or 0))

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def is_file(self) -> bool:
        return self.type == "File"


class Place(NamedTuple):
    """A remote directory as pyarrow has it."""

    filesystem: "FileSystem"
    path: str

    def without_retries(self) -> Self:
        """Return the same place, asked once where pyarrow would ask S3 for six seconds."""
        if self.filesystem.type_name != "s3":
            return self
        from pyarrow.fs import AwsStandardS3RetryStrategy  # noqa: PLC0415  start-up time

        create, (options,) = self.filesystem.__reduce__()
        once = {**options, "retry_strategy": AwsStandardS3RetryStrategy(max_attempts=1)}
        return self._replace(filesystem=create(once))


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

    def directories(self) -> list[str]:
        """Name the directories in this one, and the links to some. Raises UnreadableLocationError."""
        try:
            if not self.is_local:
                return self._directories()
            with os.scandir(self.path) as entries:
                return [entry.name for entry in entries if entry.is_dir()]
        except OSError as error:
            raise UnreadableLocationError(self.shown, error) from error

    def links(self) -> list["Storage"]:
        """Name the links in a local directory that lead to directories out of it. Raises UnreadableLocationError."""
        if not self.is_local:
            return []
        try:
            found = list_directory(self.path, root=self.path).escaping_links
            return [self.child(name) for name, path in sorted(found.items()) if path.is_dir()]
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
        """Read at most `limit` bytes of a file; of a remote one as two transfers have it. Raises OSError."""
        if self.is_local:
            with open(self.path / name, "rb") as file:
                return file.read(limit)
        return fetched(lambda look: self._read(self._place_of(look), name, limit), AGREED, self._patience)

    def read_at(self, name: str, position: int, size: int) -> bytes:
        """Read at most `size` bytes of a file from a position on. Raises OSError."""
        if self.is_local:
            with open(self.path / name, "rb", buffering=0) as file:
                return os.pread(file.fileno(), size, position)
        place = self._place_of(0)
        with (
            self._patience.asking(),
            _without_secrets(),
            place.filesystem.open_input_file(f"{place.path}/{name}") as file,
        ):
            return bytes(block(file, position, max(min(size, file.size() - position), 0)))

    def stored_files(self) -> dict[str, StoredFile]:
        """Look at the files of this directory, of which there are none where it is gone. Raises OSError."""
        if self.is_local:
            try:
                with os.scandir(self.path) as entries:
                    return {entry.name: stored for entry in entries if (stored := _stored(entry)) is not None}
            except FileNotFoundError:
                return {}
        listed = self._listed("", allow_not_found=True)
        return {entry.name: entry.stored for entry in listed if entry.is_file}

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
        is_agreed: bool = False,
        altered: Altered = _untold,
    ) -> Iterator[Path]:
        """Enter the directory of a partition below this root, as a local path whose parent is the root; "" is the root.

        Of a remote one the files, and those of the root itself, are copied for as long as it is entered; `only` names
        those that are needed, and `stand_ins` are made instead of those of their names. Where `root` is a local
        directory that stands for this one already, as `own_files` makes it, the directory alone is copied, into that.
        They are as two transfers have them; those that the log's checksums cover as one has them, unless `is_agreed`.
        `altered` is called with each file of which there were others. Raises OSError, FileNotFoundError where the
        directory is gone.
        """
        if self.is_local:
            yield self.path / directory
            return
        if root is None:
            with self.own_files(altered) as place:
                for name in () if directory else self._directories():
                    (place / name).mkdir()
                below = self.local_copy(
                    directory, only=only, stand_ins=stand_ins, root=place, is_agreed=is_agreed, altered=altered
                )
                with below as target:
                    yield target
            return
        if not directory:
            yield root
            return
        target = root / directory
        target.mkdir()
        try:
            if not self._copy_files(directory, target, only, stand_ins, is_agreed=is_agreed, altered=altered):
                raise FileNotFoundError(None, "no such directory", self.child(directory).shown)
            yield target
        finally:
            shutil.rmtree(target, ignore_errors=True)

    @contextmanager
    def own_files(self, altered: Altered = _untold) -> Iterator[Path]:
        """Enter a local directory with the files of this remote one, without the directories in it. Raises OSError."""
        with tempfile.TemporaryDirectory(prefix="epochlog-", dir=_scratch_directory()) as scratch:
            place = Path(scratch) / self.name
            place.mkdir()
            self._copy_files("", place, None, altered=altered)
            yield place

    @property
    def _patience(self) -> Patience:
        split = urlsplit(self.uri)
        return patience_with(split.scheme, split.netloc, split.query)

    @cached_property
    def _place_of_second_looks(self) -> Place:
        return Storage(self.uri)._place  # noqa: SLF001  of the same class

    @cached_property
    def _place(self) -> Place:
        from pyarrow.fs import FileSystem  # noqa: PLC0415  start-up time

        try:
            with _without_secrets():
                return Place(*FileSystem.from_uri(self.uri))
        except OSError as error:
            raise UnreadableLocationError(self.shown, error) from error

    def _remote_tree(self, depth: int) -> dict[str, Files]:
        """List all with one walk: a request for each directory would take hours with many partitions."""
        tree: dict[str, Files] = {"": {}}
        try:
            entries = self._listed("", recursive=depth > 0)
        except OSError as error:
            raise UnreadableLocationError(self.shown, error) from error
        base = self._place.path.rstrip("/")
        for entry in entries:
            directory, _, name = entry.path[len(base) + 1 :].rpartition("/")
            levels = directory.count("/") + 1 if directory else 0
            if entry.is_file and levels <= depth:
                tree.setdefault(directory, {})[name] = entry.stored.size
        return tree

    def _directories(self) -> list[str]:
        return [entry.name for entry in self._listed("") if entry.type == "Directory"]

    def _listed(self, directory: str, *, recursive: bool = False, allow_not_found: bool = False) -> list[_Entry]:
        """List a remote directory below this one as two answers of the store have it. Raises OSError.

        Where somebody writes no two are the same: then what two of them have is there, as it was last.
        """
        from pyarrow.fs import FileSelector  # noqa: PLC0415  start-up time

        answers: list[list[_Entry]] = []

        def listed(look: int) -> list[_Entry]:
            filesystem, base = self._place_of(look)
            where = f"{base}/{directory}" if directory else base
            selector = FileSelector(where, allow_not_found=allow_not_found, recursive=recursive)
            with _without_secrets():
                found = sorted(map(_Entry.of, filesystem.get_file_info(selector)), key=attrgetter("path"))
            answers.append(found)
            return found

        try:
            return fetched(listed, AGREED, self._patience)
        except OSError:
            if len(answers) < LOOKS:
                raise
        times = Counter(entry.path for answer in answers for entry in answer)
        latest = {entry.path: entry for answer in answers for entry in answer}
        return [entry for path, entry in sorted(latest.items()) if times[path] >= AGREED]

    def _place_of(self, look: int) -> Place:
        """Give the place for one more look, over connections of its own: some may have a bad way, or a cache on it."""
        kept = self._place if look == 0 else self._place_of_second_looks
        place = kept if look < AGREED else Storage(self.uri)._place  # noqa: SLF001  of the same class
        return place if self._patience.is_left else place.without_retries()

    @staticmethod
    def _read(place: Place, name: str, limit: int) -> bytes:
        with _without_secrets(), place.filesystem.open_input_file(f"{place.path}/{name}") as file:
            return bytes(block(file, 0, min(limit, file.size())))

    def _copy_files(
        self,
        directory: str,
        target: Path,
        only: Collection[str] | None,
        stand_ins: Mapping[str, StandIn] = NO_STAND_INS,
        *,
        is_agreed: bool = True,
        altered: Altered = _untold,
    ) -> int:
        """Copy the files of a directory, and return how many there are."""
        entries = self._listed(directory, allow_not_found=True)
        names = [entry.name for entry in entries if entry.is_file]
        for name in names:
            if name in stand_ins:
                stand_ins[name].make(target / name)
            elif only is None or name in only:
                times = AGREED if is_agreed or parse_file_name(name).kind not in _CHECKED else ONCE
                source = f"{directory}/{name}" if directory else name
                copy = partial(self._copied, source, target / name)
                fetched(copy, times, self._patience, partial(altered, name))
        return len(names)

    def _copied(self, source: str, target: Path, look: int) -> bytes:
        """Copy a file, and return a digest of it. Raises OSError."""
        filesystem, base = self._place_of(look)
        digest = hashlib.sha256()
        with _without_secrets(), filesystem.open_input_file(f"{base}/{source}") as file, open(target, "wb") as copy:
            for part in blocks(file, CHUNK):
                copy.write(part)
                digest.update(part)
        return digest.digest()


@contextmanager
def _without_secrets() -> Iterator[None]:
    """Remove what is secret in the address from a store's errors. Raises OSError."""
    from pyarrow import ArrowException  # noqa: PLC0415  start-up time

    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, redacted(error.strerror or str(error)), error.filename) from None
    except (OSError, ArrowException) as error:
        raise OSError(redacted(str(error))) from None
    except UnicodeDecodeError as error:  # pyarrow takes names as they come
        name = shown(os.fsdecode(error.object))
        raise OSError(f"the store answers with a name that is no UTF-8: {redacted(name)}") from None


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
