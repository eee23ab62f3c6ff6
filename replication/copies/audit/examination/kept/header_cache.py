"""Spares the bytes of segments that an earlier audit has read: closed ones that are unchanged since."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from logstore.batch.columns import BatchColumns
from logstore.offline.log_file import LogFile
from logstore.verify.finding import Reporter
from logstore.verify.log_pass import Scan
from replication.copies.audit.examination.kept.cached_segment import (
    CachedSegment,
    HeaderFileError,
    decode_segments,
    encode_segments,
)
from replication.copies.audit.examination.kept.header_keeper import HeaderKeeper
from replication.copies.audit.examination.kept.kept_file import KeptFile
from replication.copies.audit.examination.kept.rotation import Rotation
from replication.copies.audit.examination.kept.standing_copy import SETTLED_NS, CopyState, ends_in
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.remote.stand_in import StandIn
from replication.copies.audit.snapshots.remote.stored_object import StoredObject
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import Copy

UNREADABLE_HISTORY: Final = "history-unreadable"
HISTORY_NOT_KEPT: Final = "history-not-kept"
_MICROSECONDS: Final = 1_000
_SUFFIX: Final = ".headers"
_MARK_BYTES: Final = 4


@dataclass(slots=True)
class CopyHeaders:
    """What is known of one copy's segments while it is examined; nothing at all without a history."""

    cached: dict[str, CachedSegment] = field(default_factory=dict)
    """By the names of `.log` files: those that need not be read."""
    findings: tuple[ReplicaFinding, ...] = ()
    """Why nothing is known."""
    keeper: HeaderKeeper | None = None
    """Sees what is read, where that is to be kept."""
    kept: frozenset[str] | None = None
    """The `.log` files of which anything was kept, of use or not; None where that was not looked up."""
    mark: bytes = b""
    """Which version of the kept file that was."""
    before: CopyState | None = None
    """The copy before it was read, where what is found in it may be kept as a whole."""

    def scanning(self, otherwise: Scan = LogFile.scan) -> Scan:
        """Return what reads batches for a pass: from here those that are known, else by `otherwise`."""

        def scan(log: LogFile, position: int) -> Iterator[BatchColumns]:
            known = self.cached.get(log.path.name) if log.path else None
            return known.chunks() if known and position == 0 else otherwise(log, position)

        return scan if self.cached else otherwise

    def watch(self) -> list[HeaderKeeper]:
        """Return what is to see another pass over the copy."""
        if self.keeper is None:
            return []
        self.keeper = HeaderKeeper()
        return [self.keeper]

    def keep_only(self, files: Collection[str]) -> None:
        """Forget what is known of other files."""
        self.cached = {name: segment for name, segment in self.cached.items() if name in files}

    @property
    def with_records(self) -> frozenset[str]:
        """The files whose records were decoded too."""
        return frozenset(name for name, segment in self.cached.items() if segment.has_records)

    @property
    def stand_ins(self) -> dict[str, StandIn]:
        """Make what a pass needs of the files that it does not read: their sizes, and control batches."""
        return {name: StandIn(segment.stored.size, segment.controls) for name, segment in self.cached.items()}


@dataclass(frozen=True, slots=True)
class HeaderCache:
    """The headers that the audits of one history have kept: a file for each copy, by replica and partition.

    A segment is unchanged where its name, its size, the time of its modification and the checksum of its last batch
    are; in a store, where its name, its size and its object's digest are, or what else tells objects of one name apart
    and that checksum. What a disk has done to other bytes of it is not noticed: `full` reads all, and `rotation` all in
    some runs.
    """

    place: Storage
    read_at: int
    """When this audit began, in microseconds since 1970 UTC."""
    records: bool
    """Whether this audit decodes records: then headers of segments whose records nobody has decoded do not help."""
    full: bool = False
    rotation: Rotation | None = None

    def of(self, copy: Copy) -> CopyHeaders:
        """Look up what is known of a copy. Raises OSError where the copy cannot be looked at."""
        found = CopyHeaders(keeper=HeaderKeeper())
        if self.full:
            return found
        try:
            data = header_file_of(copy).read(self.place)
            kept = decode_segments(data) if data else []
        except (HeaderFileError, OSError) as error:
            found.findings = (_unreadable(copy, error),)
            return found
        found.kept, found.mark = frozenset(segment.file for segment in kept), _mark(data)
        sizes = {segment.file: segment.size for segment in copy.segments[:-1]}
        closed = [
            segment
            for segment in kept
            if sizes.get(segment.file) == segment.stored.size
            and (segment.has_records or not self.records)
            and not (self.rotation and self.rotation.is_due(copy, segment.file, segment.read_at))
        ]
        unchanged = _as_they_were(closed, Storage(copy.root).child(copy.directory)) if closed else ()
        found.cached = {segment.file: segment for segment in unchanged}
        return found

    def save(self, copy: Copy, headers: CopyHeaders, faulty: Collection[str]) -> None:
        """Keep what is known by now of a copy that has not changed meanwhile, but for `faulty` files.

        Raises OSError.
        """
        if headers.keeper is None:
            return
        names = [name for name in headers.keeper.kept if name not in headers.cached and name not in faulty]
        read = self._read(names, headers.keeper, Storage(copy.root).child(copy.directory)) if names else []
        cached = {name: segment for name, segment in headers.cached.items() if name not in faulty}
        if read or headers.kept != cached.keys():
            self._write(copy, [*self._still_kept(copy, cached, headers.mark), *read])

    def forget(self, copy: Copy, files: Collection[str]) -> None:
        """Remove what was kept of these files of a copy. Raises OSError."""
        try:
            kept = self._load(copy)
        except HeaderFileError:
            kept = []
        left = [segment for segment in kept if segment.file not in files]
        if len(left) < len(kept):
            self._write(copy, left)

    def _still_kept(self, copy: Copy, cached: Mapping[str, CachedSegment], mark: bytes) -> list[CachedSegment]:
        """Leave out what another audit has forgotten since these were looked up: it has found damage there."""
        if not cached or _mark(header_file_of(copy).read(self.place)) == mark:
            return list(cached.values())
        try:
            now = {segment.file for segment in self._load(copy)}
        except HeaderFileError:
            now = set()
        return [segment for name, segment in cached.items() if name in now]

    def _write(self, copy: Copy, segments: Sequence[CachedSegment]) -> None:
        if segments:
            header_file_of(copy).write(self.place, encode_segments(segments))
        else:
            header_file_of(copy).remove(self.place)

    def _read(self, names: Iterable[str], keeper: HeaderKeeper, storage: Storage) -> list[CachedSegment]:
        """Return those of the segments that this audit has read which are as they were read."""
        latest = self.read_at * _MICROSECONDS - SETTLED_NS
        files = storage.stored_files()
        settled = [
            name
            for name in names
            if name in files
            and files[name].size == keeper.kept[name][0].next_position
            and files[name].modified_ns < latest
        ]
        objects = {} if storage.is_local else storage.objects(settled)
        return [
            CachedSegment(
                name, files[name], self.read_at, self.records, *keeper.kept[name], objects[name].tag if objects else ""
            )
            for name in settled
            if storage.is_local or (name in objects and objects[name].size == files[name].size)
        ]

    def _load(self, copy: Copy) -> list[CachedSegment]:
        data = header_file_of(copy).read(self.place)
        return [] if data is None else decode_segments(data)


def _mark(data: bytes | None) -> bytes:
    """Return what tells one version of a file from another: its checksum; nothing where there is none."""
    return data[:_MARK_BYTES] if data else b""


def header_file_of(copy: Copy) -> KeptFile:
    """Name the file of a copy's headers."""
    return KeptFile.of(f"{copy.replica}\n{copy.topic_partition}", _SUFFIX)


def _as_they_were(segments: Sequence[CachedSegment], storage: Storage) -> list[CachedSegment]:
    """Choose those whose files nothing shows to be others. Raises OSError."""
    objects = {} if storage.is_local else storage.objects(segment.file for segment in segments)
    if not all(each.tag for each in objects.values()):  # a store that says nothing of its objects, such as HDFS
        objects = {}
    files = storage.stored_files() if storage.is_local or not objects else {}
    return [
        segment
        for segment in segments
        if (segment.file in objects and _is_object_of(segment, objects[segment.file], storage))
        or (files.get(segment.file) == segment.stored and _ends_as(segment, storage))
    ]


def _is_object_of(segment: CachedSegment, stored: StoredObject, storage: Storage) -> bool:
    is_same = (stored.size, stored.tag) == (segment.stored.size, segment.tag)
    return is_same and (stored.is_digest or _ends_as(segment, storage))


def _ends_as(segment: CachedSegment, storage: Storage) -> bool:
    """Look whether a segment's last batch has the checksum that it had."""
    columns = segment.columns
    return ends_in(storage, segment.file, int(columns.position[-1]), int(columns.crc[-1]))


def not_kept(copy: Copy, error: OSError) -> ReplicaFinding:
    """Report that the next audit has to read all of a copy."""
    message = f"what was read of this copy could not be kept for the next audit: {error}"
    return ReplicaFinding(copy.replica, Reporter(copy.topic_partition).warning(HISTORY_NOT_KEPT, message, file=None))


def _unreadable(copy: Copy, error: Exception) -> ReplicaFinding:
    message = f"what earlier audits kept of this copy in the history cannot be used: {error}; all of it was read"
    return ReplicaFinding(copy.replica, Reporter(copy.topic_partition).warning(UNREADABLE_HISTORY, message, file=None))
