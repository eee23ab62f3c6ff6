"""Copies of brokers' logs: which roots belong to which broker, and which partitions are in them."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from errno import EACCES
from itertools import combinations, takewhile
from pathlib import Path
from typing import Final

from logstore.errors import CorruptCheckpointError, CorruptMetadataError
from logstore.file_name import META_PROPERTIES_NAME, FileFate, FileKind, parse_file_name
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from logstore.files.meta_properties import MetaProperties
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS, OffsetCheckpoint
from logstore.offline.offline_log_directory import has_root_files, holds_partition
from logstore.shown_text import shown
from logstore.topic_partition import DirectoryMark, TopicPartition, is_partition_directory_name, parse_directory_name
from replication.base.errors import (
    NoSnapshotError,
    NothingInCommonError,
    SameBrokerError,
    SnapshotNameError,
    UnreadableLocationError,
)
from replication.base.metadata_partition import METADATA_PARTITION
from replication.copies.audit.copy_summary import SegmentExtent
from replication.copies.audit.snapshots.arguments import snapshots_in
from replication.copies.audit.snapshots.missing_copies import Expectations
from replication.copies.audit.snapshots.storage import Files, Listed, Storage, Unlisted
from replication.copies.audit.snapshots.work import Copy, ListedState
from replication.copies.planning.broker_roots import LEVELS, OwnedRoot, are_of_one_broker, by_broker, looked_into
from replication.copies.planning.named_roots import ensure_one_cluster

ARGUMENT: Final = re.compile(r"(?:(?P<name>[^/\\:?=]+)=)?(?P<uri>.+)", re.DOTALL)
"""What names a snapshot: `[NAME=]URI`."""
_META_BYTES: Final = 1 << 20
_CHECKPOINT_BYTES: Final = 256 << 20
_LET_GO: Final = frozenset({DirectoryMark.DELETE, DirectoryMark.STRAY})


@dataclass(frozen=True)
class Root:
    """One log.dirs root as it was listed."""

    storage: Storage
    partitions: dict[str, Files]
    """The files of the live partitions' directories, by the directories' names."""
    node_id: int | None = None
    cluster_id: str | None = None
    directory_id: str | None = None
    clean_stop: CleanShutdown | None = None
    """What its broker left there when it stopped cleanly; None where it did not."""
    listed: frozenset[TopicPartition] = frozenset()
    """The partitions that its checkpoint files mention, as far as those can be read, but for what it has let go of."""
    unread: str | None = None
    """Why it could not be listed, or does not show whose it is, although it should."""
    is_listed: bool = True

    @property
    def held(self) -> set[TopicPartition]:
        """The partitions in it."""
        return {parse_directory_name(name).topic_partition for name in self.partitions}


@dataclass(frozen=True)
class Snapshot:
    """One broker's copy: a log.dirs root, or several where the broker has several disks (JBOD)."""

    name: str
    roots: tuple[Root, ...]
    is_whole: bool = True
    """Whether it is all that the broker has, rather than one partition's directory that was named by itself."""

    @property
    def held(self) -> set[TopicPartition]:
        """The partitions in it."""
        return {partition for root in self.roots for partition in root.held}

    @property
    def is_listed(self) -> bool:
        """Whether all of its roots could be listed."""
        return all(root.is_listed for root in self.roots)

    @property
    def listed(self) -> set[TopicPartition]:
        """The partitions that its checkpoint files mention."""
        return {partition for root in self.roots for partition in root.listed}

    def copies(self) -> Iterator[Copy]:
        """Name the copies of partitions, by root; one that stands on a second disk as well has a name of its own."""
        seen: set[TopicPartition] = set()
        for root in self.roots:
            for directory, files in root.partitions.items():
                partition = parse_directory_name(directory).topic_partition
                is_second = partition in seen
                replica, broker = (f"{self.name}/{root.storage.name}", self.name) if is_second else (self.name, "")
                seen.add(partition)
                segments = tuple(segment_extents(files))
                is_local = root.storage.is_local
                others = None if is_local else _others(files, segments)
                listed = ListedState(files.digest, files.modified_ns) if isinstance(files, Listed) else None
                yield Copy(replica, root.storage.uri, directory, partition, segments, is_local, broker, others, listed)


def find_snapshots(arguments: Sequence[str | Path]) -> list[Snapshot]:
    """List what each `[NAME=]URI` holds: a log.dirs root, a directory of several, or one partition's directory.

    Roots are looked for in the directory, in those in it, and in those that links in it lead to. Several with one
    `node.id` in their meta.properties, or none, are the disks of one broker; with different ones, or with the same
    partitions in them, each is a broker's. Disks of one broker may also be named one by one, where each has a
    `directory.id` of its own or none has a partition of another. A snapshot is called NAME, else like its directory.
    An existing directory is taken as a path even if its name contains `=`. Raises DifferentClustersError,
    SameBrokerError, NothingInCommonError, NoSnapshotError, SnapshotNameError, UnreadableLocationError.

    >>> [snapshot.name for snapshot in find_snapshots(["/backup/broker-1", "old=s3://backups/broker-2"])]
    ['broker-1', 'old']
    """
    snapshots = list_snapshots(arguments)
    _ensure_comparable(snapshots)
    return snapshots


def list_snapshots(arguments: Sequence[str | Path]) -> list[Snapshot]:
    """List as `find_snapshots` does, but allow snapshots of different clusters.

    Raises NoSnapshotError, SameBrokerError where a copy is named twice, SnapshotNameError, UnreadableLocationError,
    and WrongTypeError or NotAllowedError where `arguments` is no list, or an empty one.
    """
    parsed = [_parsed(str(argument)) for argument in snapshots_in(arguments)]
    _ensure_named_once(parsed)
    listed = [(name, snapshot) for name, storage in parsed for snapshot in _snapshots_in(name, storage)]
    snapshots = _distinctly_named([*_named_as_brokers(_joined(listed))])
    _ensure_copies_named_once(snapshots)
    return snapshots


def expected_in(snapshots: Sequence[Snapshot], replication_factor: int | None = None) -> Expectations:
    """Gather what shows which copies there should be, and what they are worth: the newest metadata in one of them."""
    roots = [root for snapshot in snapshots for root in snapshot.roots if str(METADATA_PARTITION) in root.partitions]
    names = {
        root.node_id: snapshot.name for snapshot in snapshots for root in snapshot.roots if root.node_id is not None
    }
    newest = None
    if roots:
        from replication.copies.audit.snapshots.newest_metadata import newest_metadata  # noqa: PLC0415  start-up time

        newest = newest_metadata(root.storage.local_copy(str(METADATA_PARTITION), is_agreed=True) for root in roots)
    listed = {snapshot.name: snapshot.listed for snapshot in snapshots}
    return Expectations.of(newest, names, listed, replication_factor)


def local_directories(arguments: Sequence[str | Path], snapshots: Sequence[Snapshot]) -> Iterator[Path]:
    """Name what is audited on this machine: the roots, or of partitions that were named by themselves, those."""
    named = [storage.path for _, storage in map(_parsed, map(str, arguments)) if storage.is_local]
    for root in (root for snapshot in snapshots for root in snapshot.roots if root.storage.is_local):
        path = root.storage.path
        if any(path.is_relative_to(each) for each in named):
            yield path
        else:
            yield from (root.storage.child(name).path for name in root.partitions)


def named_absolutely(argument: str | Path) -> str:
    """Name the directory of a `[NAME=]URI` so that it means the same in every process of this machine.

    Raises NoSnapshotError for an empty one, and SnapshotNameError.
    """
    name, storage = _parsed(str(argument))
    return f"{name}={storage.uri}" if name else storage.uri


def segment_extents(files: Mapping[str, int]) -> Iterator[SegmentExtent]:
    """Pick the `.log` files out of a partition's, by base offset."""
    for name in sorted(files):
        parsed = parse_file_name(name)
        if parsed.kind is FileKind.LOG and parsed.fate is FileFate.LIVE and parsed.base_offset is not None:
            yield SegmentExtent(parsed.base_offset, files[name])


def _others(files: Files, segments: Iterable[SegmentExtent]) -> Files:
    read = {segment.file for segment in segments}
    return {name: size for name, size in files.items() if name not in read}


def _snapshots_in(given_name: str | None, storage: Storage) -> Iterator[Snapshot]:
    tree = storage.tree()
    if _is_root(tree, "", storage.name):
        yield Snapshot(given_name or storage.name, (_root(storage, tree, ""),))
        return
    if holds_partition(storage.name, tree[""]):
        root = Root(storage.parent, {storage.name: tree[""]})
        yield Snapshot(given_name or storage.parent.name, (root,), is_whole=False)
        return
    roots = _distinct(_roots_below(storage, tree))
    if not any(root.is_listed for root in roots):
        raise NoSnapshotError(storage.shown)
    brokers = by_broker([_owned(root) for root in roots if root.is_listed])
    unlisted = [root for root in roots if not root.is_listed]
    is_alone = len(brokers) == 1 and not unlisted
    for members in brokers:
        name = storage.name if is_alone else _above(storage, members, brokers)
        yield Snapshot(given_name if given_name and is_alone else name, tuple(members))
    for root in unlisted:
        yield Snapshot(root.storage.name, (root,))


def _roots_below(storage: Storage, tree: Mapping[str, Files], levels: int = LEVELS) -> Iterator[Root]:
    """Find the roots in a directory, and in those in it, such as volumes; links to local ones are followed."""
    links = {link.name: link for link in storage.links()}
    tops = {name for name in tree if name and "/" not in name}
    chosen = looked_into(tops | links.keys())
    for name in sorted(tops & chosen):
        if isinstance(files := tree[name], Unlisted):
            yield Root(storage.child(name), {}, unread=files.reason, is_listed=False)
        elif _is_root(tree, name, name):
            yield _root(storage, tree, name)
        elif levels > 1 and not holds_partition(name, files):
            below = {path: found for path, found in tree.items() if path.startswith(f"{name}/")}
            yield from _roots_below(storage.child(name), _relative_to(name, files, below), levels - 1)
    for link in (links[name] for name in sorted(links.keys() & chosen)):
        linked = link.tree()
        if _is_root(linked, "", link.name):
            yield _root(link, linked, "")
        elif levels > 1 and not holds_partition(link.name, linked[""]):
            yield from _roots_below(link, linked, levels - 1)


def _relative_to(name: str, files: Files, below: Mapping[str, Files]) -> dict[str, Files]:
    return {"": files} | {path.removeprefix(f"{name}/"): found for path, found in below.items()}


def _distinct(roots: Iterable[Root]) -> list[Root]:
    """Leave out what a link leads to that is there itself."""
    places: dict[str, Root] = {}
    for root in sorted(roots, key=lambda each: each.storage.is_local and each.storage.path.is_symlink()):
        places.setdefault(_place_of(root), root)
    return sorted(places.values(), key=lambda each: each.storage.uri)


def _above(storage: Storage, members: Sequence[Root], brokers: Sequence[Sequence[Root]]) -> str:
    """Call a broker like the directory in this one that holds its roots alone, else like its first root."""
    tops = [{root.storage.parts[len(storage.parts)] for root in each} for each in brokers]
    (top, *others) = {root.storage.parts[len(storage.parts)] for root in members}
    return members[0].storage.name if others or sum(top in each for each in tops) > 1 else top


def _owned(root: Root) -> OwnedRoot[Root]:
    return OwnedRoot(root, root.storage.uri, root.node_id, root.held, root.cluster_id, root.directory_id)


def _parsed(argument: str) -> tuple[str | None, Storage]:
    match = ARGUMENT.fullmatch(argument)
    if match is None:
        raise NoSnapshotError("an empty name")
    name, uri = match["name"], Storage(match["uri"])
    if name is None or not Path(argument).is_dir():
        return name, uri.absolute()
    if not uri.is_local or uri.path.exists():
        raise SnapshotNameError.ambiguous(argument, name, uri.shown)
    return None, Storage(argument).absolute()


def _ensure_named_once(parsed: Iterable[tuple[str | None, Storage]]) -> None:
    named: dict[str, Storage] = {}
    for name, storage in parsed:
        if name is not None and name in named:
            raise SnapshotNameError.doubled(name, named[name].shown, storage.shown)
        if name is not None:
            named[name] = storage


def _ensure_copies_named_once(snapshots: Iterable[Snapshot]) -> None:
    named: dict[tuple[str, str], Snapshot] = {}
    for snapshot in snapshots:
        for root in snapshot.roots:
            place = _place_of(root)
            for name in root.partitions:
                other = named.setdefault((place, name), snapshot)
                if other is not snapshot:
                    same = f"the same directory, {root.storage.child(name).shown}"
                    raise SameBrokerError(other.name, snapshot.name, same)


def _is_root(tree: Mapping[str, Files], directory: str, name: str) -> bool:
    if holds_partition(name, tree[directory]):
        return False
    return has_root_files(tree[directory]) or any(holds_partition(*each) for each in _below(tree, directory))


def _below(tree: Mapping[str, Files], directory: str) -> Iterator[tuple[str, Files]]:
    prefix = f"{directory}/" if directory else ""
    for path, files in tree.items():
        name = path.removeprefix(prefix)
        if path and path.startswith(prefix) and "/" not in name:
            yield name, files


def _root(storage: Storage, tree: Mapping[str, Files], directory: str) -> Root:
    place = storage.child(directory)
    names = {
        name: parse_directory_name(name)
        for name, _ in sorted(_below(tree, directory))
        if is_partition_directory_name(name)
    }
    partitions = {
        name: tree[f"{directory}/{name}" if directory else name]
        for name, parsed in names.items()
        if parsed.mark is DirectoryMark.NONE
    }
    # A broker writes its checkpoint files from time to time: they still mention what it has just let go of. What it has
    # found to be stray Kafka's broker mentions even after it has stopped.
    let_go = {parsed.topic_partition for parsed in names.values() if parsed.mark in _LET_GO}
    properties, unread = _properties(place) if META_PROPERTIES_NAME in tree[directory] else (None, None)
    listed = {
        partition
        for name in OFFSET_CHECKPOINTS
        if name in tree[directory]
        for partition in _checkpoint(place, name, tree[directory][name])
    }
    return Root(
        place,
        partitions,
        node_id=properties.node_id if properties else None,
        cluster_id=properties.cluster_id if properties else None,
        directory_id=properties.directory_id if properties else None,
        clean_stop=_clean_stop(place) if CLEAN_SHUTDOWN_NAME in tree[directory] else None,
        listed=frozenset(listed - let_go),
        unread=unread,
    )


def _properties(storage: Storage) -> tuple[MetaProperties | None, str | None]:
    """Read whose root it is, or why that cannot be, which the audit reports too."""
    try:
        return MetaProperties.parse(storage.read(META_PROPERTIES_NAME, _META_BYTES)), None
    except (CorruptMetadataError, OSError) as error:
        return None, f"{META_PROPERTIES_NAME}: {error}"


def ensure_listed(snapshots: Iterable[Snapshot]) -> None:
    """Raise UnreadableLocationError for a root that could not be listed, for a caller who needs all that there is."""
    for root in (root for snapshot in snapshots for root in snapshot.roots):
        if not root.is_listed:
            raise _unreadable(root.storage, root.unread or "")


def ensure_partitions_listed(snapshots: Iterable[Snapshot], wanted: Iterable[Copy]) -> None:
    """Raise UnreadableLocationError where the directory of one of these copies could not be listed."""
    unlisted = {
        (root.storage.uri, name): _unreadable(root.storage.child(name), files.reason)
        for snapshot in snapshots
        for root in snapshot.roots
        for name, files in root.partitions.items()
        if isinstance(files, Unlisted)
    }
    for copy in wanted:
        if error := unlisted.get((copy.root, copy.directory)):
            raise error


def _unreadable(storage: Storage, reason: str) -> UnreadableLocationError:
    is_denied = reason == os.strerror(EACCES)
    return UnreadableLocationError(storage.shown, PermissionError(EACCES, reason) if is_denied else OSError(reason))


def unread_roots(snapshots: Iterable[Snapshot]) -> list[str]:
    """Name the roots that do not show whose they are, or cannot be listed, each with the reason."""
    return [f"{root.storage.shown}: {root.unread}" for snapshot in snapshots for root in snapshot.roots if root.unread]


def _clean_stop(storage: Storage) -> CleanShutdown | None:
    """Read of which start it was the end; None where that cannot be read."""
    try:
        return CleanShutdown.parse(storage.read(CLEAN_SHUTDOWN_NAME, _META_BYTES))
    except (CorruptMetadataError, OSError):
        return None


def _checkpoint(storage: Storage, name: str, size: int) -> OffsetCheckpoint:
    """Read a checkpoint file; what cannot be read, which the audit reports, mentions nothing."""
    try:
        return OffsetCheckpoint.parse(storage.read(name, min(size, _CHECKPOINT_BYTES)))
    except (CorruptCheckpointError, OSError):
        return OffsetCheckpoint()


def _joined(found: Iterable[tuple[str | None, Snapshot]]) -> list[tuple[str | None, Snapshot]]:
    """Join the roots of one broker that were named one by one."""
    joined: list[tuple[str | None, Snapshot]] = []
    for given, snapshot in found:
        for number, (name, other) in enumerate(joined):
            roots = map(_owned, (*other.roots, *snapshot.roots))
            if (name is None or given in {None, name}) and _are_whole(other, snapshot) and are_of_one_broker([*roots]):
                joined[number] = (
                    name or given,
                    replace(
                        other, name=name or given or other.roots[0].storage.name, roots=(*other.roots, *snapshot.roots)
                    ),
                )
                break
        else:
            joined.append((given, snapshot))
    return joined


def _named_as_brokers(found: Sequence[tuple[str | None, Snapshot]]) -> Iterator[tuple[str | None, Snapshot]]:
    """Call a broker whose disks were named one by one by the directory that holds them alone, else by its number.

    By the name of one of its disks the others would seem to be nobody's.
    """
    for given, snapshot in found:
        first = snapshot.roots[0]
        if (
            given is not None
            or len(snapshot.roots) == 1
            or first.node_id is None
            or snapshot.name != first.storage.name
        ):
            yield given, snapshot
            continue
        others = [root for _, other in found if other is not snapshot for root in other.roots]
        above = _parts_in_common(snapshot.roots)
        is_its_own = above and not any(root.storage.parts[: len(above)] == above for root in others)
        yield None, replace(snapshot, name=above[-1] if is_its_own else f"broker-{first.node_id}")


def _parts_in_common(roots: Sequence[Root]) -> tuple[str, ...]:
    """Return the parts of the path of the directory that holds all of these."""
    paths = [root.storage.parts[:-1] for root in roots]
    return tuple(parts[0] for parts in takewhile(lambda parts: len({*parts}) == 1, zip(*paths, strict=False)))


def _are_whole(*snapshots: Snapshot) -> bool:
    return all(each.is_whole and each.is_listed for each in snapshots)


def _distinctly_named(found: Sequence[tuple[str | None, Snapshot]]) -> list[Snapshot]:
    """Call those of one name by as many last parts of their paths as distinguish them, but as the user named them."""
    names = [snapshot.name for _, snapshot in found]
    parts = [(given,) if given == snapshot.name else _parts_of(snapshot) for given, snapshot in found]
    for count in range(2, max(map(len, parts), default=0) + 1):
        places = set(zip(names, parts, strict=True))
        doubled = {name for name, times in Counter(name for name, _ in places).items() if times > 1}
        if not doubled:
            break
        names = [
            "/".join(path[-count:]) if name in doubled or "/" in name else name
            for name, path in zip(names, parts, strict=True)
        ]
    return [replace(snapshot, name=shown(name)) for name, (_, snapshot) in zip(names, found, strict=True)]


def _parts_of(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the parts of the path by which it is called; of several disks, of what holds them all."""
    first = snapshot.roots[0].storage
    return first.parts if snapshot.name == first.name else _parts_in_common(snapshot.roots)


def _ensure_comparable(snapshots: Sequence[Snapshot]) -> None:
    for one, other in combinations(snapshots, 2):
        if same := {root.node_id for root in one.roots if root.node_id is not None} & {
            root.node_id for root in other.roots
        }:
            raise SameBrokerError(one.name, other.name, f"broker {min(same)} by node.id in meta.properties")
        if {_place_of(root) for root in one.roots} & {_place_of(root) for root in other.roots}:
            raise SameBrokerError(one.name, other.name, "the same directory")
        if one.name == other.name:
            raise SameBrokerError(one.name, other.name, f"called {one.name}")
    ensure_one_cluster({root.storage.shown: root.cluster_id for snapshot in snapshots for root in snapshot.roots})
    held = Counter(partition for snapshot in snapshots for partition in snapshot.held)
    lost = len(snapshots) > 1 and any(not snapshot.held and snapshot.is_listed for snapshot in snapshots)
    if max(held.values(), default=0) < (1 if lost else 2):
        raise NothingInCommonError([snapshot.name for snapshot in snapshots], unread_roots(snapshots))


def _place_of(root: Root) -> str:
    return str(root.storage.path.resolve()) if root.storage.is_local else root.storage.uri
