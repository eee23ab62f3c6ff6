"""The partitions that one broker's copy of the logs holds."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Final

from logstore.errors import LogStoreError
from logstore.file_name import FileKind, parse_file_name
from logstore.files.meta_properties import MetaProperties
from logstore.files.partition_metadata import PartitionMetadata
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import DirectoryMark, TopicPartition, is_partition_directory_name, parse_directory_name
from replication.base.errors import (
    NothingInCommonError,
    PartitionDoubledError,
    PartitionVanishedError,
    SameBrokerError,
    TopicIdsDifferError,
)
from replication.copies.planning.doubled_partition import DoubledCopy, doubled_in_words
from replication.copies.planning.failures import PARTITION_ERRORS, OnError, stop
from replication.copies.planning.named_roots import (
    Named,
    each_alone,
    ensure_one_cluster,
    joined_by_broker,
    read_properties,
)

NEEDED: Final = frozenset({FileKind.LOG, FileKind.LEADER_EPOCH_CHECKPOINT, FileKind.PARTITION_METADATA})
"""The files by which replicas are judged."""


@dataclass(frozen=True, slots=True)
class Replica:
    """A broker's partitions, of all its disks, under the name of the directory that holds them."""

    name: str
    partitions: dict[TopicPartition, PartitionDirectory]
    left_out: Mapping[TopicPartition, Exception] = field(default_factory=dict)
    """Partitions that it holds too, but that could not be opened, and why."""
    is_root: bool = True
    """Whether it is a whole log.dirs root, rather than one partition's directory that was named by itself."""
    listed: frozenset[TopicPartition] = frozenset()
    """The partitions that a root's checkpoint files mention, but for what is being deleted."""
    node_id: int | None = None
    """The broker's, as far as its root's `meta.properties` says it."""
    cluster_id: str | None = None
    """The cluster's, from there too."""
    unread: tuple[Exception, ...] = ()
    """Why a `meta.properties` of its roots could not be read: then they are taken for nobody's."""
    paths: tuple[Path, ...] = ()
    """As it was named: several where a broker's roots were named one by one."""

    @property
    def held(self) -> set[TopicPartition]:
        """All partitions that it holds, whether they can be opened or not."""
        return {*self.partitions, *self.left_out}


def open_replicas(paths: Sequence[Path], *, on_error: OnError = stop) -> list[Replica]:
    """Open log.dirs roots, directories of a broker's or several brokers' roots, or single partitions' as replicas.

    Roots of one broker that are named one by one are one replica, where it is called that of the first. A replica has
    the name of its directory; if two share a name, as much of their paths as distinguishes them.
    `on_error` decides whether a partition of a root that cannot be opened is left out.

    Raises NothingInCommonError if no two of them hold the same partition, or should by their checkpoint files or
    because it was named with them; SameReplicaError if one of them is given twice; and, by the `meta.properties` of
    their roots, DifferentClustersError, and SameBrokerError if two copies of one broker hold the same partition.
    """
    replicas = open_copies(paths, on_error=on_error)
    ensure_replicas(paths, replicas)
    return replicas


def ensure_replicas(paths: Sequence[Path], replicas: Sequence[Replica]) -> None:
    """Raise NothingInCommonError or SameBrokerError where copies are no replicas, as `open_replicas` does."""
    _ensure_different_brokers(replicas)
    if not _is_one_lacking(replicas):
        _ensure_comparable(paths, replicas)


def open_alone(path: Path, *, on_error: OnError = stop) -> Replica:
    """Open what is not to be compared with another. Raises NotALogDirectoryError and SeveralBrokersError."""
    (replica,) = _replicas(each_alone([path]), on_error)
    return replica


def open_copies(paths: Sequence[Path], *, on_error: OnError = stop) -> list[Replica]:
    """Open copies of one cluster, be it one alone, some that share no partition, or one broker's of several times.

    Roots of one broker that are named one by one are one copy, as in `open_replicas`. Raises NotALogDirectoryError,
    SameReplicaError, SameBrokerError and DifferentClustersError.
    """
    replicas = _replicas(joined_by_broker(paths), on_error)
    ensure_one_cluster({str(path): each.cluster_id for each in replicas for path in each.paths})
    return replicas


def open_named_replicas(paths: Sequence[Path], *, on_error: OnError = stop) -> list[Replica]:
    """Open directories whose brokers and cluster the caller knows, whatever their `meta.properties` say.

    Raises NothingInCommonError, SameReplicaError and SeveralBrokersError as `open_replicas` does.
    """
    replicas = _replicas(each_alone(paths), on_error)
    _ensure_comparable(paths, replicas)
    return replicas


def _replicas(named: Sequence[Named], on_error: OnError) -> list[Replica]:
    places = [
        each.opened[0].path.parent if isinstance(each.opened[0], PartitionDirectory) else each.paths[0].absolute()
        for each in named
    ]
    return [_open(name, each, on_error) for name, each in zip(_distinct_names(places), named, strict=True)]


def _ensure_comparable(paths: Sequence[Path], replicas: Sequence[Replica]) -> None:
    if not _meant_for_several(replicas):
        raise NothingInCommonError([str(path) for path in paths])


def in_common(replicas: Sequence[Replica]) -> list[TopicPartition]:
    """Return the partitions that at least two of the replicas hold, in order."""
    copies = Counter(partition for replica in replicas for partition in replica.partitions)
    return sorted(partition for partition, count in copies.items() if count > 1)


def holding(replicas: Iterable[Replica], partition: TopicPartition) -> dict[str, PartitionDirectory]:
    """Return the copies of one partition by replica name."""
    return {replica.name: replica.partitions[partition] for replica in replicas if partition in replica.partitions}


def held_by_one(replicas: Sequence[Replica]) -> dict[str, list[TopicPartition]]:
    """Return the partitions that cannot be compared, since only one replica holds them, by that replica's name.

    Those of a root that is compared only with single partitions, each named by itself, are not asked for.
    """
    shared = held_by_several(replicas)
    roots = sum(replica.is_root for replica in replicas)
    asked_for = [replica for replica in replicas if roots > 1 or not replica.is_root]
    alone = {replica.name: sorted(replica.held - shared) for replica in asked_for}
    return {name: partitions for name, partitions in alone.items() if partitions}


def open_partitions(
    opened: OfflineLogDirectory | PartitionDirectory, on_error: OnError
) -> dict[TopicPartition, PartitionDirectory]:
    """Open a root's live partitions, or take the one; `on_error` is called for those that fail or have vanished.

    Symbolic links that leave the root are not followed: a partition that is one, or needs one, cannot be opened.
    """
    if isinstance(opened, PartitionDirectory):
        _refuse_links(opened)
        return {opened.topic_partition: opened}
    for name, path in opened.listing.escaping_links.items():
        if is_partition_directory_name(name):
            on_error(parse_directory_name(name).topic_partition, _leaves_the_root(path))
    partitions = {}
    for name in opened.live_names():
        partition = parse_directory_name(name).topic_partition
        try:
            directory = opened.open_partition(name)
            _refuse_links(directory)
            partitions[partition] = directory
        except PARTITION_ERRORS as error:
            path = opened.path / name
            on_error(partition, error if path.exists() else PartitionVanishedError(path))
    return partitions


def ensure_same_topic(copies: Mapping[str, PartitionDirectory]) -> None:
    """Raise TopicIdsDifferError where the copies, by replica name, are of topics that only share their name.

    Copies without `partition.metadata`, as before Kafka 2.8, are taken for the same. CorruptMetadataError where one
    cannot be parsed.
    """
    files = {name: copy.listing.files.get(FileKind.PARTITION_METADATA.value) for name, copy in copies.items()}
    topic_ids = {name: PartitionMetadata.read(path).topic_id for name, path in files.items() if path}
    if len(set(topic_ids.values())) > 1:
        raise TopicIdsDifferError(topic_ids)


def _ensure_different_brokers(replicas: Sequence[Replica]) -> None:
    """Raise SameBrokerError where two are copies of one broker, rather than partitions of it named by themselves."""
    for one, other in combinations(replicas, 2):
        if one.node_id is not None and one.node_id == other.node_id and one.held & other.held:
            raise SameBrokerError(one.name, other.name, f"broker {one.node_id} by node.id in meta.properties")


def _meant_for_several(replicas: Sequence[Replica]) -> bool:
    """Whether two hold the same partition, or one should, by its own checkpoint files, that another holds."""
    held = {partition for replica in replicas for partition in replica.held}
    copies = Counter(partition for replica in replicas for partition in held & (replica.held | replica.listed))
    return max(copies.values(), default=0) > 1


def _is_one_lacking(replicas: Sequence[Replica]) -> bool:
    """Whether a root was named that holds nothing at all, or not what another names by itself: it lacks that."""
    roots = [replica for replica in replicas if replica.is_root]
    named = any(not replica.is_root for replica in replicas)
    return (any(not root.held for root in roots) and any(replica.held for replica in replicas)) or (
        named and bool(roots)
    )


def _refuse_links(partition: PartitionDirectory) -> None:
    """Raise LogStoreError if a file of the log is a link that was not followed."""
    for name, path in partition.listing.escaping_links.items():
        if parse_file_name(name).kind in NEEDED:
            raise _leaves_the_root(path)


def _leaves_the_root(path: Path) -> LogStoreError:
    return LogStoreError(
        "a symbolic link that leaves the root: it was not followed", file=path, advice="copy what it leads to"
    )


def _open(name: str, named: Named, on_error: OnError) -> Replica:
    left_out: dict[TopicPartition, Exception] = {}

    def leave_out(partition: TopicPartition, error: Exception) -> None:
        left_out[partition] = error
        on_error(partition, error)

    found: dict[TopicPartition, list[PartitionDirectory]] = {}
    listed: set[TopicPartition] = set()
    for each in named.opened:
        for partition, directory in open_partitions(each, leave_out).items():
            found.setdefault(partition, []).append(directory)
        listed |= _listed(each) if isinstance(each, OfflineLogDirectory) else frozenset()
    for partition, directories in found.items():
        if len(directories) > 1:
            copies = [DoubledCopy.read(directory) for directory in directories]
            leave_out(partition, PartitionDoubledError(doubled_in_words(partition, name, copies)))
    partitions = {partition: first for partition, (first, *others) in found.items() if not others}
    read = [read_properties(each) for each in named.opened]
    known = [each for each in read if isinstance(each, MetaProperties)]
    return Replica(
        name,
        partitions,
        left_out,
        is_root=isinstance(named.opened[0], OfflineLogDirectory),
        listed=frozenset(listed),
        node_id=next((each.node_id for each in known if each.node_id is not None), None),
        cluster_id=next((each.cluster_id for each in known if each.cluster_id is not None), None),
        unread=tuple(each for each in read if isinstance(each, Exception)),
        paths=tuple(named.paths),
    )


def _listed(root: OfflineLogDirectory) -> frozenset[TopicPartition]:
    names = [parse_directory_name(name) for name in root.listing.directories if is_partition_directory_name(name)]
    deleted = {name.topic_partition for name in names if name.mark is DirectoryMark.DELETE}
    return frozenset(root.checkpoints.partitions() - deleted)


def held_by_several(replicas: Sequence[Replica]) -> set[TopicPartition]:
    """Return the partitions that at least two of the replicas hold, whether they can be opened or not."""
    copies = Counter(partition for replica in replicas for partition in replica.held)
    return {partition for partition, count in copies.items() if count > 1}


def _distinct_names(paths: Sequence[Path]) -> list[str]:
    """Name each path by its last part, or by as many last parts as distinguish all of them."""
    deepest = max(len(path.parts) for path in paths)
    names = [path.name for path in paths]
    for parts in range(2, deepest + 1):
        if len(set(names)) == len(names):
            break
        names = ["/".join(path.parts[-parts:]) for path in paths]
    return names
