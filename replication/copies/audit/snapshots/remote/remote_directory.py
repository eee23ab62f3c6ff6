"""A directory in a store: listed, read and copied as two answers have it, or as the store's own digest does."""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple
from urllib.parse import urlsplit

from logstore.file_name import INDEX_KINDS, FileKind, parse_file_name
from replication.copies.audit.snapshots.remote.patience import Patience, patience_with
from replication.copies.audit.snapshots.remote.place import Place, without_secrets
from replication.copies.audit.snapshots.remote.requests import HELD_BYTES, at_once, held
from replication.copies.audit.snapshots.remote.stand_in import NO_STAND_INS, StandIn
from replication.copies.audit.snapshots.remote.stored_digest import StoredDigest
from replication.copies.audit.snapshots.remote.stored_file import StoredEntry
from replication.copies.audit.snapshots.remote.stored_object import StoredObject
from replication.copies.audit.snapshots.remote.traffic import TRAFFIC
from replication.copies.audit.snapshots.remote.transfer import AGREED, LOOKS, ONCE, RemoteFile, block, fetched

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

CHUNK: Final = 8 << 20
"""Bytes of one read while a file is copied."""
PARTS: Final = HELD_BYTES // CHUNK
"""Into how many a large file is divided at most, which are fetched at once."""
_LISTED_AT_ONCE: Final = 1_000
"""Files that an answer of S3 names at most."""
_CHECKED: Final = frozenset({FileKind.LOG, *INDEX_KINDS, FileKind.PRODUCER_SNAPSHOT})
"""Files that have checksums, or of which the log shows whether they are right."""

Entries = list[StoredEntry]
Altered = Callable[[str], object]
"""Called with the name of a file that was altered on its way, and then fetched as it is."""


def untold(_name: str) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class _Transfer:
    """What one transfer of a file has brought."""

    digest: bytes
    is_as_stored: bool = field(compare=False)
    """Whether the store gives the same digest of what lies there."""

    @classmethod
    def of(cls, data: bytes | Path, stored: StoredDigest) -> "_Transfer":
        if isinstance(data, bytes):
            return cls(data, stored.is_of(data))
        with open(data, "rb") as file:
            return cls(hashlib.file_digest(file, "sha256").digest(), stored.is_of(data))


class _Opened(NamedTuple):
    """What a store says of a file of which a part is fetched."""

    size: int
    stored: StoredDigest


def _parts(whole: range) -> list[range]:
    """Divide a large file, or a part of one, into parts of whole answers, each of which is fetched in a row."""
    answers = -(-len(whole) // CHUNK)
    step = -(-answers // max(min(answers, PARTS), 1)) * CHUNK
    return [whole[start : start + step] for start in range(0, len(whole), max(step, 1))]


def _write(file: RemoteFile, copy: BinaryIO, part: range) -> None:
    """Write a part of a file to the same place in another one."""
    for position in range(part.start, part.stop, CHUNK):
        size = min(CHUNK, part.stop - position)
        with held(size):
            data = block(file, position, size)
            os.pwrite(copy.fileno(), data, position)


def _open(filesystem: "FileSystem", path: str) -> Any:
    """Open a file, of which the store is asked how long it is."""
    TRAFFIC.add(requests=1)
    return filesystem.open_input_file(path)


def _is_as_stored(transfer: _Transfer) -> bool:
    return transfer.is_as_stored


@dataclass(frozen=True)
class RemoteDirectory:
    """What a URI such as `s3://bucket/backups/broker-1` names. All raise OSError."""

    uri: str

    @property
    def patience(self) -> Patience:
        """What this process has with the store."""
        split = urlsplit(self.uri)
        return patience_with(split.scheme, split.netloc, split.query)

    @cached_property
    def place(self) -> Place:
        """Where it is asked first."""
        return Place.kept(self.uri, 0)

    @cached_property
    def _place_of_second_looks(self) -> Place:
        return Place.kept(self.uri, 1)

    def listed(
        self,
        directory: str = "",
        *,
        recursive: bool = False,
        allow_not_found: bool = False,
        is_known: Callable[[Entries], bool] = lambda _entries: False,
    ) -> Entries:
        """List a directory below this one, by path: as two answers of the store have it, or one that `is_known`.

        Where somebody writes no two are the same: then what two of them have is there, as it was last.
        """
        from pyarrow.fs import FileSelector  # noqa: PLC0415  start-up time

        answers: list[Entries] = []
        self.place  # noqa: B018  what is wrong with the address is not tried again

        def answer(look: int) -> Entries:
            filesystem, base = self._place_of(look)
            where = f"{base}/{directory}" if directory else base
            selector = FileSelector(where, allow_not_found=allow_not_found, recursive=recursive)
            with without_secrets():
                found = sorted(map(StoredEntry.of, filesystem.get_file_info(selector)), key=attrgetter("path"))
            TRAFFIC.add(requests=len(found) // _LISTED_AT_ONCE + 1)
            answers.append(found)
            return found

        try:
            return fetched(answer, AGREED, self.patience, is_sure=is_known)
        except OSError:
            if len(answers) < LOOKS:
                raise
        times = Counter(entry.path for answer in answers for entry in answer)
        latest = {entry.path: entry for answer in answers for entry in answer}
        return [entry for path, entry in sorted(latest.items()) if times[path] >= AGREED]

    def read(self, name: str, limit: int) -> bytes:
        """Read at most `limit` bytes of a file: as two transfers have it, or the store's digest of it."""

        def transfer(look: int) -> _Transfer:
            filesystem, base = self._place_of(look)
            with without_secrets(), _open(filesystem, f"{base}/{name}") as file:
                data = bytes(block(file, 0, min(limit, file.size())))
                return _Transfer.of(data, StoredDigest.of(file.metadata()))

        return fetched(transfer, AGREED, self.patience, is_sure=_is_as_stored).digest

    def read_at(self, name: str, position: int, size: int) -> bytes:
        """Read at most `size` bytes of a file from a position on, asked for once."""
        filesystem, base = self._place_of(0)
        with self.patience.asking(), without_secrets(), _open(filesystem, f"{base}/{name}") as file:
            return bytes(block(file, position, max(min(size, file.size() - position), 0)))

    def objects(self, names: Iterable[str]) -> dict[str, StoredObject]:
        """Ask what the store says of these files, of all at once, and read none; those that are gone are left out."""
        found: dict[str, StoredObject] = {}
        with at_once(partial(self._ask_of, name, found) for name in names):
            pass
        return found

    def _ask_of(self, name: str, found: dict[str, StoredObject]) -> None:
        def asked(look: int) -> StoredObject:
            filesystem, base = self._place_of(look)
            with without_secrets(), _open(filesystem, f"{base}/{name}") as file:
                return StoredObject.of(file.size(), file.metadata())

        with suppress(FileNotFoundError):
            found[name] = fetched(asked, ONCE, self.patience)

    def write(self, name: str, data: bytes) -> None:
        """Give a file new contents; the directory is made where it is missing."""
        filesystem, base = self.place
        with without_secrets():
            filesystem.create_dir(base, recursive=True)
            with filesystem.open_output_stream(f"{base}/{name}") as stream:
                stream.write(data)

    def remove(self, name: str) -> None:
        """Remove a file."""
        filesystem, base = self.place
        with without_secrets():
            filesystem.delete_file(f"{base}/{name}")

    def copy(
        self,
        directory: str,
        target: Path,
        files: Mapping[str, int],
        only: Collection[str] | None = None,
        stand_ins: Mapping[str, StandIn] = NO_STAND_INS,
        *,
        is_agreed: bool = True,
        altered: Altered = untold,
    ) -> None:
        """Copy files of a directory below this one, given with their sizes; those alone that `only` names, if any.

        Small ones are fetched at once, and parts of one large file.
        """
        calls: list[Callable[[], None]] = []
        large: list[Callable[[], None]] = []
        for name, size in files.items():
            if name in stand_ins:
                stand_ins[name].make(target / name)
            elif only is not None and name not in only:
                continue
            elif size == 0:
                (target / name).touch()
            else:
                is_checked = not is_agreed and parse_file_name(name).kind in _CHECKED
                source = f"{directory}/{name}" if directory else name
                call = partial(
                    self._copy_file, source, target / name, size, partial(altered, name), is_checked=is_checked
                )
                (calls if size <= CHUNK else large).append(call)
        with at_once(calls):
            for fetch in large:
                fetch()

    def _copy_file(
        self, source: str, target: Path, size: int, altered: Callable[[], object], *, is_checked: bool
    ) -> None:
        """Copy a file; of one that is checked otherwise a single transfer is enough."""

        def transfer(look: int) -> _Transfer:
            stored = self._fetch(source, target, size, look)
            return _Transfer(b"", is_as_stored=False) if is_checked else _Transfer.of(target, stored)

        times = ONCE if is_checked else AGREED
        fetched(transfer, times, self.patience, altered, is_sure=_is_as_stored)

    def _fetch(self, source: str, target: Path, size: int, look: int) -> StoredDigest:
        """Fetch a file once, a large one in parts at once unless it has another size than was listed."""
        with open(target, "wb") as copy:
            if size > CHUNK:
                opened = self._fetch_parts(source, copy, range(size), look)
                if {each.size for each in opened} == {size}:
                    return opened[0].stored
                copy.truncate(0)
            filesystem, base = self._place_of(look)
            with without_secrets(), _open(filesystem, f"{base}/{source}") as file:
                _write(file, copy, range(file.size()))
                return StoredDigest.of(file.metadata())

    def fetch_part(self, source: str, target: Path, size: int, part: range) -> bool:
        """Fetch a part of a file of a size; all of it where it has another one. Whether it has that size."""
        with open(target, "wb") as copy:
            opened = self._fetch_parts(source, copy, part, 0)
            copy.truncate(size)
        is_same = {each.size for each in opened} <= {size}
        if not is_same:
            self._copy_file(source, target, size, lambda: None, is_checked=True)
        return is_same

    def _fetch_parts(self, source: str, copy: BinaryIO, part: range, look: int) -> list[_Opened]:
        opened: list[_Opened] = []
        calls = (partial(self._fetch_part, source, copy, each, look, opened.append) for each in _parts(part))
        with at_once(calls):
            pass
        return opened

    def _fetch_part(
        self, source: str, copy: BinaryIO, part: range, look: int, opened: Callable[[_Opened], object]
    ) -> None:
        """Fetch a part of a file, again where that fails, and hand on what the store says of all of it."""

        def transfer(again: int) -> _Opened:
            filesystem, base = self._place_of(look + again)
            with without_secrets(), _open(filesystem, f"{base}/{source}") as file:
                size = int(file.size())
                _write(file, copy, range(part.start, min(part.stop, size)))
                return _Opened(size, StoredDigest.of(file.metadata()))

        opened(fetched(transfer, ONCE, self.patience))

    def _place_of(self, look: int) -> Place:
        """Give the place for one more look, over connections of its own: some may have a bad way, or a cache on it."""
        kept = self.place if look == 0 else self._place_of_second_looks
        return kept if look < AGREED else Place.of(self.uri)
