"""One door to the directories of snapshots: local ones, and all that pyarrow reads (s3, gs, hdfs)."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from stat import S_ISREG
from typing import Final
from urllib.parse import unquote_to_bytes, urlsplit, urlunsplit
from uuid import uuid4

from epoch.filesystem import REAL
from logstore.errors import NotALogDirectoryError
from logstore.offline.directory_listing import list_directory
from logstore.shown_text import shown
from logstore.text.address_secrets import redacted, take_in
from replication.base.errors import UnreadableLocationError
from replication.copies.audit.snapshots.remote.remote_directory import Altered, RemoteDirectory, untold
from replication.copies.audit.snapshots.remote.stand_in import NO_STAND_INS, StandIn
from replication.copies.audit.snapshots.remote.stored_file import StoredEntry, StoredFile
from replication.copies.audit.snapshots.remote.stored_object import StoredObject
from replication.copies.planning.broker_roots import LEVELS

Files = dict[str, int]
"""Sizes in bytes by file name."""


class Unlisted(Files):
    """The files of a directory that could not be listed: none are known."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason: str = reason


_SIGNS: Final = re.compile("[%?#]")
"""What in a name would mean something else in a URI."""


class Listed(Files):
    """The files of a directory in a store, as it was listed."""

    def __init__(self) -> None:
        super().__init__()
        self.modified_ns: int = 0
        """When one of them was modified last, in nanoseconds since 1970 UTC."""
        self._digest = blake2b(digest_size=16)

    def add(self, name: str, stored: StoredFile) -> None:
        """Add a file; all listings are in the same order."""
        self[name] = stored.size
        self.modified_ns = max(self.modified_ns, stored.modified_ns)
        self._digest.update(repr((name, *stored)).encode(errors="surrogateescape"))

    @property
    def digest(self) -> str:
        """Of the names, the sizes and the times of all."""
        return self._digest.hexdigest()


DEPTH: Final = LEVELS + 1
"""Levels below what is named: roots in it, or in directories in it, and partitions in those."""


@dataclass(frozen=True)
class Storage:
    """A directory, wherever it is: a path, or a URI such as `s3://bucket/backups/broker-1?region=eu-west-1`.

    What follows the `?` are pyarrow's options of the file system, such as `endpoint_override` and `scheme`.
    """

    uri: str

    def __post_init__(self) -> None:
        take_in(self.uri)
        try:
            urlsplit(self.uri)
        except ValueError as error:
            raise UnreadableLocationError(redacted(shown(self.uri)), error) from error

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
        return Storage(urlunsplit(split._replace(path=f"{split.path.rstrip('/')}/{_SIGNS.sub(_escaped, relative)}")))

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
                return [entry.name for entry in self._remote.listed() if entry.is_directory]
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

    def files(self, suffix: str = "", is_known: Callable[[Files], bool] = lambda _files: False) -> Files:
        """List the files of this directory alone, as `tree` does, those at least whose names end with `suffix`.

        A remote directory is asked for once where `is_known` says of the answer that it is what was there before.
        Raises UnreadableLocationError.
        """
        if not self.is_local:
            return self._remote_tree(0, is_known)[""]
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
        """Read at most `limit` bytes of a file; of a remote one as two transfers have it, or its store's digest.

        Raises OSError.
        """
        if self.is_local:
            with open(os.path.join(self.path, name), "rb") as file:  # noqa: PTH118  many times a second
                return file.read(limit)
        return self._remote.read(name, limit)

    def read_at(self, name: str, position: int, size: int) -> bytes:
        """Read at most `size` bytes of a file from a position on. Raises OSError."""
        if self.is_local:
            with open(os.path.join(self.path, name), "rb", buffering=0) as file:  # noqa: PTH118  as above
                return os.pread(file.fileno(), size, position)
        return self._remote.read_at(name, position, size)

    def stored_files(self) -> dict[str, StoredFile]:
        """Look at the files of this directory, of which there are none where it is gone. Raises OSError."""
        if self.is_local:
            try:
                with os.scandir(self.path) as entries:
                    return {entry.name: stored for entry in entries if (stored := _stored(entry)) is not None}
            except FileNotFoundError:
                return {}
        listed = self._remote.listed(allow_not_found=True)
        return {entry.name: entry.stored for entry in listed if entry.is_file}

    def objects(self, names: Iterable[str]) -> dict[str, StoredObject]:
        """Ask what a store says of these files of a remote directory, without reading any. Raises OSError."""
        return self._remote.objects(names)

    def only_files(self) -> dict[str, StoredFile] | None:
        """Look at the files of this local directory; None where anything else is among them. Raises OSError."""
        with os.scandir(self.path) as entries:
            found = {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
        if not all(S_ISREG(stat.st_mode) for stat in found.values()):
            return None
        return {name: StoredFile(stat.st_size, stat.st_mtime_ns) for name, stat in found.items()}

    def write(self, name: str, data: bytes, *, durably: bool = True) -> None:
        """Give a file new contents, all at once; the directory is made where it is missing. Raises OSError.

        What is not written `durably` may be lost, or torn, when the power is.
        """
        if not self.is_local:
            self._remote.write(name, data)
            return
        target = self.path / name
        write = REAL.write_atomically if durably else _write_whole
        try:
            write(target, data)
        except FileNotFoundError:
            target.parent.mkdir(parents=True, exist_ok=True)
            write(target, data)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there. Raises OSError."""
        if self.is_local:
            (self.path / name).unlink(missing_ok=True)
            return
        with suppress(FileNotFoundError):
            self._remote.remove(name)

    @contextmanager
    def local_copy(
        self,
        directory: str,
        *,
        files: Files | None = None,
        only: Collection[str] | None = None,
        stand_ins: Mapping[str, StandIn] = NO_STAND_INS,
        root: Path | None = None,
        is_agreed: bool = False,
        altered: Altered = untold,
    ) -> Iterator[Path]:
        """Enter the directory of a partition below this root, as a local path whose parent is the root; "" is the root.

        Of a remote one the files, and those of the root itself, are copied for as long as it is entered; `only` names
        those that are needed, and `stand_ins` are made instead of those of their names. `files` are those that were
        listed there already. Where `root` is a local directory that stands for this one already, as `own_files` makes
        it, the directory alone is copied, into that. They are as two transfers have them, or the store's digests;
        those that the log's checksums cover as one has them, unless `is_agreed`. `altered` is called with each file of
        which there were others. Raises OSError, FileNotFoundError where the directory is gone.
        """
        if self.is_local:
            yield self.path / directory
            return
        if root is None:
            with self._own_files(altered, with_directories=not directory) as place:
                below = self.local_copy(
                    directory,
                    files=files,
                    only=only,
                    stand_ins=stand_ins,
                    root=place,
                    is_agreed=is_agreed,
                    altered=altered,
                )
                with below as target:
                    yield target
            return
        if not directory:
            yield root
            return
        target = root / directory
        target.mkdir()
        copy = partial(
            self._remote.copy,
            directory,
            target,
            only=only,
            stand_ins=stand_ins,
            is_agreed=is_agreed,
            altered=altered,
        )
        try:
            if not (files and _is_there(copy, files)):
                shutil.rmtree(target)
                target.mkdir()
                copy(self._files_below(directory))
            yield target
        finally:
            shutil.rmtree(target, ignore_errors=True)

    def fetch_part(self, directory: str, target: Path, size: int, part: range) -> bool:
        """Fetch a part of a file of this remote root into a sparse file; all of it where it has not that size any more.

        Whether it has. Raises OSError.
        """
        return self._remote.fetch_part(f"{directory}/{target.name}", target, size, part)

    @contextmanager
    def own_files(self, altered: Altered = untold) -> Iterator[Path]:
        """Enter a local directory with the files of this remote one, without the directories in it. Raises OSError."""
        with self._own_files(altered) as place:
            yield place

    def _files_below(self, directory: str) -> Files:
        """List the files of a remote directory. Raises OSError, FileNotFoundError where there are none."""
        files = _files_in(self._remote.listed(directory, allow_not_found=True))
        if not files:
            raise FileNotFoundError(None, "no such directory", self.child(directory).shown)
        return files

    @cached_property
    def _remote(self) -> RemoteDirectory:
        return RemoteDirectory(self.uri)

    def _remote_tree(self, depth: int, is_known: Callable[[Files], bool] = lambda _files: False) -> dict[str, Files]:
        """List all with one walk: a request for each directory would take hours with many partitions."""
        tree = {"": Listed()}
        try:
            entries = self._remote.listed(recursive=depth > 0, is_known=lambda answer: is_known(_files_in(answer)))
            base = self._remote.place.path.rstrip("/")
        except OSError as error:
            raise UnreadableLocationError(self.shown, error) from error
        for entry in entries:
            directory, _, name = entry.path[len(base) + 1 :].rpartition("/")
            levels = directory.count("/") + 1 if directory else 0
            if entry.is_file and levels <= depth:
                for place in (directory, *_above(directory)):
                    tree.setdefault(place, Listed())
                tree[directory].add(name, entry.stored)
        return dict(tree)

    @contextmanager
    def _own_files(self, altered: Altered, *, with_directories: bool = False) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="epochlog-", dir=_scratch_directory()) as scratch:
            place = Path(scratch) / self.name
            place.mkdir()
            entries = self._remote.listed()
            for entry in entries:
                if with_directories and entry.is_directory:
                    (place / entry.name).mkdir()
            self._remote.copy("", place, _files_in(entries), altered=altered)
            yield place


def _is_there(copy: Callable[[Files], None], files: Files) -> bool:
    """Copy files that were listed before; they may be others by now."""
    try:
        copy(files)
    except FileNotFoundError:
        return False
    return True


def _above(directory: str) -> Iterator[str]:
    """Name the directories above one; those of a store have no files of their own, but have those below."""
    while directory := directory.rpartition("/")[0]:
        yield directory


def _write_whole(target: Path, data: bytes) -> None:
    """Write a file beside its place, under a name of its own, as others may write it too, and put it there."""
    written = f"{target}.{uuid4().hex}.tmp"
    try:
        with open(written, "xb") as file:
            file.write(data)
        os.replace(written, target)  # noqa: PTH105  many files, one after the other
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(written)  # noqa: PTH108  as above
        raise


def _files_in(entries: Iterable[StoredEntry]) -> Files:
    return {entry.name: entry.stored.size for entry in entries if entry.is_file}


def _stored(entry: os.DirEntry[str]) -> StoredFile | None:
    """Look at one entry of a directory; None where it is no file, or is gone by now."""
    try:
        stat = entry.stat() if entry.is_file() else None
    except FileNotFoundError:
        return None
    return StoredFile(stat.st_size, stat.st_mtime_ns) if stat else None


def _escaped(sign: re.Match[str]) -> str:
    return f"%{ord(sign[0]):02X}"


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
