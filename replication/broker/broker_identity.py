"""Who a broker is: what `meta.properties` in each of its log.dirs say (Kafka: MetaPropertiesEnsemble)."""

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
    """What stays the same from one start of a broker to the next."""

    cluster_id: str
    broker_id: int
    directory_ids: tuple[UUID, ...]
    """Of the log.dirs that work."""
    previous_broker_epoch: int = -1
    """Of the last start, where all log.dirs were closed in order after it (KIP-966)."""

    @classmethod
    def of(cls, directories: LogDirectories) -> Self:
        """Read them from log.dirs that are open.

        Raises InconsistentDirectoriesError where two are not of the same broker, or are the same directory, or one was
        never formatted; CorruptMetadataError and OSError where a file cannot be read.
        """
        roots = {root.root: _formatted(root.root) for root in directories.roots if root.root not in directories.offline}
        if not roots:
            raise InconsistentDirectoriesError("no log.dirs root is online, and a broker needs one")
        (path, (first, first_id)), *others = roots.items()
        ids = {first_id: path}
        for other_path, (other, directory_id) in others:
            if (other.cluster_id, other.node_id) != (first.cluster_id, first.node_id):
                raise InconsistentDirectoriesError(
                    f"{path} is of node {first.node_id} in cluster {first.cluster_id}, and {other_path} is of node "
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
        raise InconsistentDirectoriesError(f"{root}: there is no {META_PROPERTIES_NAME}; format it for a cluster first")
    properties = MetaProperties.read(path)
    if properties.version != 1 or properties.directory_id is None:
        raise InconsistentDirectoriesError(
            f"{path}: version {properties.version}, with directory.id {properties.directory_id}; brokers without "
            "ZooKeeper need version 1 and an id, which Kafka 3.7 and later write"
        )
    return properties, parse_uuid(properties.directory_id)
