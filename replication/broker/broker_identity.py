"""A broker's identity, from `meta.properties` in each of its log.dirs (Kafka: MetaPropertiesEnsemble)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self
from uuid import UUID

from logstore.directory.log_directories import LogDirectories
from logstore.files.meta_properties import META_PROPERTIES_NAME, MetaProperties
from logstore.files.partition_metadata import parse_uuid
from replication.broker.errors import InconsistentDirectoriesError


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerIdentity:
    """The ids of a broker, which stay the same from one start to the next."""

    cluster_id: str
    broker_id: int
    directory_ids: tuple[UUID, ...]
    """Of the log.dirs that are online."""
    previous_broker_epoch: int = -1
    """The broker epoch of the last start, if all log.dirs were closed cleanly after it, else -1 (KIP-966)."""

    @classmethod
    def of(cls, directories: LogDirectories) -> Self:
        """Read the identity from open log.dirs.

        Raises InconsistentDirectoriesError if two are not of the same broker, or are the same directory, or one was
        never formatted; CorruptMetadataError and OSError if a file cannot be read.
        """
        roots = {root.root: _formatted(root.root) for root in directories.roots if root.root not in directories.offline}
        if not roots:
            raise InconsistentDirectoriesError("no log.dirs root is online, but a broker needs one")
        (path, (first, first_id)), *others = roots.items()
        ids = {first_id: path}
        for other_path, (other, directory_id) in others:
            if (other.cluster_id, other.node_id) != (first.cluster_id, first.node_id):
                raise InconsistentDirectoriesError(
                    f"{path} belongs to node {first.node_id} in cluster {first.cluster_id}, but {other_path} to node "
                    f"{other.node_id} in cluster {other.cluster_id}; name the log.dirs of one broker"
                )
            if directory_id in ids:
                raise InconsistentDirectoriesError(
                    f"{ids[directory_id]} and {other_path} have the same directory.id; one is a copy of the other"
                )
            ids[directory_id] = other_path
        assert first.cluster_id is not None  # noqa: S101 - _formatted has looked
        assert first.node_id is not None  # noqa: S101
        return cls(
            cluster_id=first.cluster_id,
            broker_id=first.node_id,
            directory_ids=tuple(ids),
            previous_broker_epoch=directories.broker_epoch,
        )


def _formatted(root: Path) -> tuple[MetaProperties, UUID]:
    """Return what a root's meta.properties say, and its id."""
    path = root / META_PROPERTIES_NAME
    if not path.exists():
        raise InconsistentDirectoriesError(f"{root}: it has no {META_PROPERTIES_NAME}; format it for a cluster first")
    properties = MetaProperties.read(path)
    if properties.version != 1 or properties.directory_id is None:
        raise InconsistentDirectoriesError(
            f"{path}: version {properties.version}, with directory.id {properties.directory_id}; brokers without "
            "ZooKeeper need version 1 and an id, which Kafka 3.7 and later write"
        )
    return properties, parse_uuid(properties.directory_id)
