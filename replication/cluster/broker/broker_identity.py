"""A broker's identity, from `meta.properties` in each of its log.dirs (Kafka: MetaPropertiesEnsemble)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from uuid import UUID

from logstore.directory.log_directories import LogDirectories
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.clean_shutdown import UNKNOWN_BROKER_EPOCH
from logstore.files.meta_properties import MetaProperties
from logstore.files.partition_metadata import parse_uuid
from replication.cluster.broker.errors import InconsistentDirectoriesError
from replication.wire.messages.broker_registration import BrokerRegistrationRequest, Listener


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerIdentity:
    """The ids of a broker, which stay the same from one start to the next."""

    cluster_id: str
    broker_id: int
    directory_ids: tuple[UUID, ...]
    """Of the log.dirs that are online."""
    previous_broker_epoch: int = -1
    """The broker epoch of the last start, if all log.dirs were closed cleanly after it and have all that they said they
    have, else -1 (KIP-966)."""

    @classmethod
    def of(cls, directories: LogDirectories) -> Self:
        """Read the identity from open log.dirs.

        Raises InconsistentDirectoriesError if two are not of the same broker, or are the same directory, or one was
        never formatted; CorruptMetadataError and OSError if a file cannot be read.
        """
        roots = {root.root: _formatted(root.root) for root in directories.roots if root.root not in directories.offline}
        if not roots:
            raise InconsistentDirectoriesError("no log.dirs root is online, but a broker needs one")
        for fault in contradictions(roots):
            raise InconsistentDirectoriesError(fault)
        first = next(iter(roots.values()))
        assert first.cluster_id is not None  # noqa: S101 - version 1 has both
        assert first.node_id is not None  # noqa: S101
        return cls(
            cluster_id=first.cluster_id,
            broker_id=first.node_id,
            directory_ids=tuple(parse_uuid(each.directory_id) for each in roots.values() if each.directory_id),
            previous_broker_epoch=UNKNOWN_BROKER_EPOCH if directories.shortfalls else directories.broker_epoch,
        )

    def registration(
        self,
        incarnation_id: UUID,
        listeners: tuple[Listener, ...],
        features: Mapping[str, range],
        rack: str | None = None,
    ) -> BrokerRegistrationRequest:
        """Return what one start of the broker asks the controller for."""
        return BrokerRegistrationRequest(
            broker_id=self.broker_id,
            cluster_id=self.cluster_id,
            incarnation_id=incarnation_id,
            listeners=listeners,
            features=features,
            rack=rack,
            log_dirs=self.directory_ids,
            previous_broker_epoch=self.previous_broker_epoch,
        )


def contradictions(known: Mapping[Path, MetaProperties]) -> Iterator[str]:
    """Find what keeps log.dirs roots from being those of one broker, by what their meta.properties say."""
    sound: dict[Path, str] = {}
    for path, each in known.items():
        if each.version == 1 and each.directory_id is not None:
            sound[path] = each.directory_id
            continue
        yield (
            f"{path / META_PROPERTIES_NAME}: version {each.version}, with directory.id {each.directory_id}; "
            "brokers without ZooKeeper need version 1 and an id, which Kafka 3.7 and later write"
        )
    paths, seen = list(sound), dict[str, Path]()
    for path in paths:
        first, each = known[paths[0]], known[path]
        if (each.cluster_id, each.node_id) != (first.cluster_id, first.node_id):
            yield (
                f"{paths[0]} belongs to node {first.node_id} in cluster {first.cluster_id}, but {path} to node "
                f"{each.node_id} in cluster {each.cluster_id}; name the log.dirs of one broker"
            )
        other = seen.setdefault(sound[path], path)
        if other != path:
            yield f"{other} and {path} have the same directory.id; one is a copy of the other"


def _formatted(root: Path) -> MetaProperties:
    """Return what a root's meta.properties say."""
    path = root / META_PROPERTIES_NAME
    if not path.exists():
        raise InconsistentDirectoriesError(f"{root}: it has no {META_PROPERTIES_NAME}; format it for a cluster first")
    return MetaProperties.read(path)
