"""Spares copies of which nothing has changed since an earlier audit: what that has found of them is taken as it was."""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import epoch
from logstore.batch.layout import CRC_AT, CRC_START
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.broker.kept_claims import KEPT_CLAIMS_NAME
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.offline.offline_log_directory import SIGNS_OF_A_ROOT
from logstore.offline.partition_directory import checkpoints_now
from logstore.topic_partition import TopicPartition
from logstore.verify.finding import Severity
from replication.copies.audit.examination.kept.kept_file import KeptFile
from replication.copies.audit.examination.kept.rotation import Rotation
from replication.copies.audit.snapshots.remote.stored_object import StoredObject
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import Copy

Row = dict[str, Any]
Ends = Mapping[str, tuple[int, int]]
"""By the names of `.log` files: where the last batch stands, and its checksum."""
VERSION: Final = 1
SUFFIX: Final = ".standing"
SETTLED_NS: Final = 2_000_000_000
"""What was modified less than this before an audit began is looked at again: file systems round such times."""
_MICROSECONDS: Final = 1_000
_READ_FROM_ROOTS: Final = (META_PROPERTIES_NAME, KEPT_CLAIMS_NAME)


class RootState(NamedTuple):
    """What stands beside the copies in a root at one moment."""

    checkpoints: RootCheckpoints
    beside: list[Any]
    """What the checks of a copy see of other files."""

    @classmethod
    def of(cls, root: Path) -> Self:
        """Look at a local directory with the root's own files."""
        signs = sorted(name for name in SIGNS_OF_A_ROOT if (root / name).exists())
        return cls(checkpoints_now(root), [*(_content(root / name) for name in _READ_FROM_ROOTS), signs])

    def about(self, partition: TopicPartition) -> list[Any]:
        """Return what it says of a partition, as JSON has it."""
        *offsets, unread = self.checkpoints.of(partition)
        return [*offsets, sorted(unread), *self.beside]


class CopyState(NamedTuple):
    """All that what is found in a copy depends on, but for the bytes in its files."""

    files: Any
    """Their names, sizes and times, as JSON has them; a digest of these in a store."""
    modified_ns: int
    """When a file of the copy was modified last, in nanoseconds since 1970 UTC."""
    root: list[Any]
    """What the root's own files say of the partition, and of themselves."""

    @classmethod
    def of(cls, copy: Copy, root: RootState) -> Self | None:
        """Look at a copy on a disk; of one in a store take what the listing says. Neither is read.

        None where more than files is in its directory, or its segments are not those that were listed. Raises OSError.
        """
        about = root.about(copy.topic_partition)
        if not copy.is_local:
            return cls(copy.listed.digest, copy.listed.modified_ns, about) if copy.listed else None
        files = _files_of(copy)
        modified_ns = max((time for _, time in files.values()), default=0) if files else 0
        return None if files is None else cls(files, modified_ns, about)


@dataclass(frozen=True, slots=True)
class StandingCopies:
    """What audits of one history have found in whole copies: a file for each, by replica and partition.

    A copy stands as it was where its directory has the same files, of the same sizes and times, its segments end in the
    same batches or are the same objects of a store, and its root says the same of it. One in which something is wrong
    is read each time.
    """

    place: Storage
    read_at: int
    """When this audit began, in microseconds since 1970 UTC."""
    records: bool
    """Whether this audit decodes records: what one has found that did not, or did, is not what this one would."""
    full: bool = False
    rotation: Rotation | None = None

    def recalled(self, copy: Copy, root: RootState) -> Row | None:
        """Return what was found in a copy that stands as it was; None where it is to be read. Raises OSError."""
        known = None if self.full else standing_file_of(copy).read_json(self.place)
        if known is None or known["made_by"] != self._made_by:
            return None
        state = CopyState.of(copy, root)
        if state is None or list(state) != known["state"]:
            return None
        row: Row = known["row"]
        if self._is_due(copy, row) or not _is_as_it_was(copy, known["ends"], known["tags"]):
            return None
        return {**row, "summary": row["summary"].encode(), "digests": base64.b64decode(row["digests"]), "bytes_read": 0}

    def keep(self, copy: Copy, before: CopyState | None, ends: Ends, row: Row) -> None:
        """Keep what was found in a copy that was so before it was read.

        Where something may be wrong, what was kept before is forgotten: the copy may look as it did then. Raises
        OSError.
        """
        if before is None or not self._is_worth_keeping(before, row) or _has_changed(copy, before):
            self.forget(copy)
            return
        tags = {} if copy.is_local else {name: each.tag for name, each in _objects(copy, ends).items()}
        found = {
            "findings": row["findings"],
            "summary": row["summary"].decode(),
            "digests": base64.b64encode(row["digests"]).decode(),
            "segments": row["segments"],
            "epochs": row["epochs"],
            "oldest_read": row["oldest_read"],
        }
        kept = {"made_by": self._made_by, "state": before, "ends": ends, "tags": tags, "row": found}
        standing_file_of(copy).write_json(self.place, kept)

    def forget(self, copy: Copy) -> None:
        """Remove what was kept of a copy. Raises OSError."""
        standing_file_of(copy).remove(self.place)

    def _is_worth_keeping(self, before: CopyState, row: Row) -> bool:
        is_sound = bool(row["segments"]) and all(map(_only_informs, row["findings"]))
        return is_sound and before.modified_ns < self.read_at * _MICROSECONDS - SETTLED_NS

    @property
    def _made_by(self) -> list[Any]:
        """What decides which checks there are."""
        return [VERSION, epoch.__version__, self.records]

    def _is_due(self, copy: Copy, row: Row) -> bool:
        rotation = self.rotation
        return rotation is not None and any(
            rotation.is_due(copy, segment["file"], segment["read_at"]) for segment in row["segments"]
        )


def standing_file_of(copy: Copy) -> KeptFile:
    """Name the file of a copy."""
    return KeptFile.of(f"{copy.replica}\n{copy.topic_partition}", SUFFIX)


@lru_cache(1)  # a copy is looked at twice, one after the other
def _place_at(root: str, directory: str) -> Storage:
    return Storage(root).child(directory)


def _place_of(copy: Copy) -> Storage:
    return _place_at(copy.root, copy.directory)


def _files_of(copy: Copy) -> dict[str, list[int]] | None:
    """Return the sizes and times of the files of a copy on a disk; None unless they are those that were listed."""
    files = _place_of(copy).only_files()
    if files is None or not all(
        segment.file in files and files[segment.file].size == segment.size for segment in copy.segments
    ):
        return None
    return {name: list(file) for name, file in files.items()}


def _has_changed(copy: Copy, before: CopyState) -> bool:
    """Whether a copy on a disk has changed; what has changed in a store has another time in the next listing."""
    return copy.is_local and _files_of(copy) != before.files


def _is_as_it_was(copy: Copy, ends: Ends, tags: Mapping[str, str]) -> bool:
    """Whether segments end in the batches in which they did; in a store, whether they are the same objects."""
    storage = _place_of(copy)
    objects = {} if copy.is_local else _objects(copy, ends)
    for file, (position, crc) in ends.items():
        if not copy.is_local and (file not in objects or objects[file].tag != tags.get(file)):
            return False
        if (copy.is_local or not objects[file].is_digest) and not ends_in(storage, file, position, crc):
            return False
    return True


def _objects(copy: Copy, names: Iterable[str]) -> dict[str, StoredObject]:
    return _place_of(copy).objects(names)


def ends_in(storage: Storage, file: str, position: int, crc: int) -> bool:
    """Look whether the last batch of a file, at a position, has the checksum that it had."""
    try:
        stored = storage.read_at(file, position + CRC_AT, CRC_START - CRC_AT)
    except OSError:
        return False
    return int.from_bytes(stored) == crc


def _only_informs(finding: Row) -> bool:
    return bool(finding["severity"] == Severity.INFO)


def _content(path: Path) -> str | None:
    try:
        return path.read_bytes().hex()
    except OSError as error:
        return str(error.errno)
