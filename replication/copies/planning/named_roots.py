"""What a person names as a broker's: a log.dirs root, several of one broker, what holds them, or a partition."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple

from logstore.errors import LogStoreError, NotALogDirectoryError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.meta_properties import MetaProperties
from logstore.offline.offline_log_directory import OfflineLogDirectory, open_offline
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import TopicPartition, parse_directory_name
from replication.base.errors import (
    DifferentClustersError,
    PartitionDoubledError,
    SameBrokerError,
    SameReplicaError,
    SeveralBrokersError,
    SeveralRootsError,
)
from replication.copies.planning.broker_roots import LEVELS, OwnedRoot, are_of_one_broker, by_broker, looked_into
from replication.copies.planning.doubled_partition import DoubledCopy, doubled_in_words

SEVERAL: Final = 2
"""Brokers in a directory, at least, that is not one broker's."""


class Named(NamedTuple):
    """What becomes one replica: what was named, and what that holds."""

    paths: list[Path]
    opened: list[OfflineLogDirectory | PartitionDirectory]

    def is_joined_by(self, other: "Named") -> bool:
        """Whether they are roots of one broker, which were named one by one."""
        roots = [each for each in (*self.opened, *other.opened) if isinstance(each, OfflineLogDirectory)]
        are_roots = len(roots) == len(self.opened) + len(other.opened)
        return are_roots and are_of_one_broker([_owned(root, properties_of(root)) for root in roots])


def each_alone(paths: Sequence[Path]) -> list[Named]:
    """Open each path as what it holds. Raises SameReplicaError and what `open_directories` does."""
    ensure_different(paths)
    return [Named([path], [*open_directories(path)]) for path in paths]


def joined_by_broker(paths: Sequence[Path]) -> list[Named]:
    """Open each path as what it holds, and group what is of one broker.

    Raises SameReplicaError and what `brokers_apart` does.
    """
    ensure_different(paths)
    joined: list[Named] = []
    for each in (named for path in paths for named in brokers_apart(path)):
        known = next((other for other in joined if other.is_joined_by(each)), None)
        if known is None:
            joined.append(each)
        else:
            known.paths.extend(each.paths)
            known.opened.extend(each.opened)
    return joined


def brokers_apart(path: Path) -> list[Named]:
    """Open what is named: a partition, a root, all roots of one broker in a directory, or those of several brokers.

    Each of several is named by the directory below `path` that holds its roots alone, or else by a root. Raises
    NotALogDirectoryError, SameBrokerError and DifferentClustersError.
    """
    opened = directories_in(path)
    brokers = _brokers_among([each for each in opened if isinstance(each, OfflineLogDirectory)])
    if len(brokers) < SEVERAL:
        return [Named([path], [*opened])]
    places = [[root.path.relative_to(path.absolute()) for root in roots] for roots in brokers]
    above = [{place.parts[0] for place in own} for own in places]
    alone = Counter(name for names in above for name in names)
    return [
        Named([path / min(names) if len(names) == 1 and alone[min(names)] == 1 else path / own[0]], [*roots])
        for roots, own, names in zip(brokers, places, above, strict=True)
    ]


def open_directories(path: Path) -> Sequence[OfflineLogDirectory | PartitionDirectory]:
    """Open what is named: a partition, a root, or all roots of one broker in a directory.

    Raises NotALogDirectoryError, and what `_ensure_one_brokers` does.
    """
    opened = directories_in(path)
    _ensure_one_brokers(path, [each for each in opened if isinstance(each, OfflineLogDirectory)])
    return opened


def directories_in(path: Path) -> Sequence[OfflineLogDirectory | PartitionDirectory]:
    """Open what is named: a partition, a root, or all roots in a directory. Raises NotALogDirectoryError."""
    try:
        return [open_offline(path)]
    except NotALogDirectoryError:
        roots = list(_roots_in(path)) if path.is_dir() else []
        if not roots:
            raise
    return roots


def brokers_in(paths: Sequence[Path]) -> list[list[OfflineLogDirectory]]:
    """Return the roots of each broker, of all that are named or lie in what is named.

    Raises NotALogDirectoryError.
    """
    brokers: list[list[OwnedRoot[OfflineLogDirectory]]] = []
    for path in paths:
        roots = [each for each in directories_in(path) if isinstance(each, OfflineLogDirectory)]
        owned = {str(root.path): _owned(root, properties_of(root)) for root in roots}
        for found in by_broker([*owned.values()]):
            members = [owned[str(root.path)] for root in found]
            known = next((each for each in brokers if are_of_one_broker([*each, *members])), None)
            if known is None:
                brokers.append(members)
            else:
                known.extend(members)
    return [[each.root for each in members] for members in brokers]


def _ensure_one_brokers(path: Path, roots: Sequence[OfflineLogDirectory]) -> None:
    """Raise SeveralBrokersError, SameBrokerError or DifferentClustersError."""
    brokers = _brokers_among(roots)
    if len(brokers) >= SEVERAL:
        raise SeveralBrokersError(path, [str(root.path.relative_to(path.absolute())) for root, *_ in brokers])


def _brokers_among(roots: Sequence[OfflineLogDirectory]) -> list[list[OfflineLogDirectory]]:
    """Return the roots in one directory by their brokers. Raises SameBrokerError and DifferentClustersError."""
    owned = [_owned(root, properties_of(root)) for root in roots]
    ensure_one_cluster({each.place: each.cluster_id for each in owned})
    first = {each.directory_id: each for each in reversed(owned) if each.directory_id is not None}
    for each in owned:
        if each.directory_id is not None and (other := first[each.directory_id]) is not each:
            disk = f"copies of one disk by directory.id {each.directory_id} in meta.properties"
            raise SameBrokerError(other.place, each.place, disk)
    return by_broker(owned)


def _roots_in(path: Path, levels: int = LEVELS) -> Iterator[OfflineLogDirectory]:
    """Find the roots in a directory, and in those in it, such as volumes; links to them are followed."""
    seen = set()
    places = {each.name: each for each in path.iterdir() if each.is_dir()}
    chosen = [places[name] for name in looked_into(places)]
    for place in sorted(chosen, key=lambda each: (each.is_symlink(), each)):
        if (real := place.resolve()) in seen:
            continue
        seen.add(real)
        try:
            opened = open_offline(place)
        except NotALogDirectoryError:
            if levels > 1:
                yield from _roots_in(place, levels - 1)
            continue
        if isinstance(opened, OfflineLogDirectory):
            yield opened


def _owned(root: OfflineLogDirectory, properties: MetaProperties | None) -> OwnedRoot[OfflineLogDirectory]:
    held = _live_partitions(root)
    if properties is None:
        return OwnedRoot(root, str(root.path), None, held)
    return OwnedRoot(root, str(root.path), properties.node_id, held, properties.cluster_id, properties.directory_id)


def _live_partitions(root: OfflineLogDirectory) -> set[TopicPartition]:
    return {parse_directory_name(name).topic_partition for name in root.live_names()}


def only_directory(path: Path) -> Path:
    """Return the directory that is meant where one is to be changed: a partition's, a root, or the only root in it.

    Raises NotALogDirectoryError, and SeveralRootsError, which says of partitions that several hold what to do first.
    """
    opened = directories_in(path)
    if len(opened) > 1:
        roots = [each for each in opened if isinstance(each, OfflineLogDirectory)]
        # What several brokers hold are replicas, of which none is to be moved away.
        doubled = [str(error) for own in brokers_in([path]) for error in doubled_in(path.name, own).values()]
        raise SeveralRootsError(path, [str(root.path.relative_to(path.absolute())) for root in roots], doubled)
    (only,) = opened
    return path if only.path == path.absolute() else path / only.path.relative_to(path.absolute())


def doubled_in(broker: str, roots: Iterable[OfflineLogDirectory]) -> dict[TopicPartition, PartitionDoubledError]:
    """Find the partitions that several roots of one broker hold, and say which copy is ahead, and what to do."""
    found: dict[TopicPartition, list[Path]] = {}
    for root in roots:
        for name in root.live_names():
            found.setdefault(parse_directory_name(name).topic_partition, []).append(root.path / name)
    return {
        partition: PartitionDoubledError(doubled_in_words(partition, broker, [*map(DoubledCopy.at, paths)]))
        for partition, paths in sorted(found.items())
        if len(paths) > 1
    }


def properties_of(opened: OfflineLogDirectory | PartitionDirectory) -> MetaProperties | None:
    """Read whose root it is, or is in; None where that cannot be."""
    read = read_properties(opened)
    return read if isinstance(read, MetaProperties) else None


def read_properties(
    opened: OfflineLogDirectory | PartitionDirectory,
) -> MetaProperties | LogStoreError | OSError | None:
    """Read whose root it is, or return why that cannot be; None where nothing says it."""
    in_root = isinstance(opened, OfflineLogDirectory)
    path = opened.listing.files.get(META_PROPERTIES_NAME) if in_root else opened.path.parent / META_PROPERTIES_NAME
    try:
        return MetaProperties.read(path) if path else None
    except FileNotFoundError:
        return None
    except (LogStoreError, OSError) as error:
        return error


def ensure_one_cluster(cluster_ids: Mapping[str, str | None]) -> None:
    """Raise DifferentClustersError unless all copies that have a cluster.id, here by their names, have the same."""
    known = {name: cluster_id for name, cluster_id in cluster_ids.items() if cluster_id is not None}
    if len(set(known.values())) > 1:
        raise DifferentClustersError(known)


def ensure_different(paths: Sequence[Path]) -> None:
    """Raise SameReplicaError where a path is another one, or lies in it."""
    for one, other in combinations(paths, 2):
        first, second = one.resolve(), other.resolve()
        if first.is_relative_to(second) or second.is_relative_to(first):
            raise SameReplicaError(one, other)
