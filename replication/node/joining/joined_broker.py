"""A broker of a cluster whose controllers are elsewhere: directories, link and broker of one process."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from uuid import UUID

from epoch.filesystem import REAL, FileSystem
from logstore.closing import close_after
from logstore.directory.directory_settings import DirectorySettings
from logstore.directory.log_directories import LogDirectories
from logstore.errors import LogStoreError
from logstore.files.directory_lock import DirectoryLock
from logstore.files.meta_properties import META_PROPERTIES_NAME, MetaProperties
from logstore.files.partition_metadata import parse_uuid
from replication.broker.broker_identity import BrokerIdentity, contradictions
from replication.broker.errors import InconsistentDirectoriesError
from replication.node.broker_node import BrokerNode, BrokerNodeSettings
from replication.node.joining.controller_probe import ensure_answers
from replication.node.network_link import NetworkLink
from replication.protocol.addresses import Address
from replication.protocol.client.client_settings import ClientSettings
from replication.quorum.local_metadata import LocalMetadata


class JoinedBroker:
    """Leads and follows as a member of a cluster, ours or Kafka's, from formatted log.dirs.

    >>> with JoinedBroker.open([Path("data")], [Address("controller1", 9093)], settings) as broker:
    ...     print(broker.node.address)
    """

    def __init__(self, stack: ExitStack, node: BrokerNode) -> None:
        """See `open`."""
        self.node: Final = node
        """The broker itself."""
        self._open: Final = stack

    @classmethod
    def open(
        cls,
        roots: Sequence[Path],
        controllers: Sequence[Address],
        settings: BrokerNodeSettings,
        *,
        node_id: int | None = None,
        metadata_root: Path | None = None,
        client_settings: ClientSettings | None = None,
        directory_settings: DirectorySettings | None = None,
        cordoned: Collection[Path] | None = None,
        filesystem: FileSystem = REAL,
    ) -> Self:
        """Open log.dirs and join the cluster that they are formatted for.

        `controllers` are the ones to try first, and `client_settings` how their listener is protected. The copy of the
        metadata is kept in `metadata_root`, by default the first of the log.dirs. In those that are `cordoned` the
        controller places no new replicas (Kafka 4.3 and later); None leaves that as `settings` have it. `filesystem` is
        how logs and metadata are written.

        Before anything is changed InconsistentDirectoriesError is raised where the directories are not formatted, not
        those of one broker, or not of `node_id`; DirectoryLockedError; MetadataRefusedError where the controllers'
        cluster is another; NoControllerError where none of them answers. Raises what `LocalMetadata.open`,
        `LogDirectories.open` and `BrokerNode` raise as well, with all closed again.
        """
        client_settings = client_settings or ClientSettings()
        copy_in = metadata_root or roots[0]
        for fault in joining_faults(roots, node_id, copy_in):
            raise InconsistentDirectoriesError(fault)
        ensure_answers(controllers, _identity(roots[0]), client_settings, settings.registration_seconds)
        with ExitStack() as stack:
            # First: a log within a root that is locked by its process cannot be opened by itself.
            metadata = LocalMetadata.open(copy_in, filesystem)
            stack.callback(metadata.close)
            # Which of two directories of a partition is stray the metadata tells.
            directories = LogDirectories.open(
                roots, duplicates=True, settings=directory_settings, periodic=True, filesystem=filesystem
            )
            stack.callback(directories.close)
            if cordoned is not None:
                settings = replace(settings, cordoned=_ids(cordoned))
            link = NetworkLink(controllers, BrokerIdentity.of(directories), client_settings, metadata=metadata)
            node = stack.enter_context(BrokerNode(link, directories, settings))
            return cls(stack.pop_all(), node)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        close_after(error, self.close)

    def close(self) -> None:
        """Stop in order: leaderships, connections, logs with their checkpoints. It may be called again."""
        self._open.close()


def joining_faults(roots: Sequence[Path], node_id: int | None, metadata_root: Path | None = None) -> Iterator[str]:
    """Find all that keeps directories from being those of one broker that is formatted, without a change of anything.

    They must be of the broker with this id, if one is given; `metadata_root` too, which may be one of them.
    """
    times = Counter(root.resolve() for root in roots)
    yield from (f"{root} is named {count} times in log.dirs" for root, count in times.items() if count > 1)
    known: dict[Path, MetaProperties] = {}
    apart = [] if metadata_root is None or metadata_root in roots else [metadata_root]
    for root in (*dict.fromkeys(roots), *apart):
        path = root / META_PROPERTIES_NAME
        try:
            if not path.exists():
                yield f"{root}: it has no {META_PROPERTIES_NAME}; format it for the cluster first: epochlog format"
                continue
            DirectoryLock.ensure_free(root)
            known[root] = MetaProperties.read(path)
        except (LogStoreError, OSError) as error:
            yield str(error)
    yield from contradictions(known)
    for root, each in known.items():
        if node_id is not None and each.node_id != node_id:
            yield f"{root} is node {each.node_id}'s by its {META_PROPERTIES_NAME}, and node.id is {node_id}"
            return


def _identity(root: Path) -> BrokerIdentity:
    """Return as whom to ask, before the directories are open."""
    known = MetaProperties.read(root / META_PROPERTIES_NAME)
    assert known.cluster_id is not None  # noqa: S101 - as `joining_faults` has seen
    assert known.node_id is not None  # noqa: S101
    assert known.directory_id is not None  # noqa: S101
    return BrokerIdentity(
        cluster_id=known.cluster_id, broker_id=known.node_id, directory_ids=(parse_uuid(known.directory_id),)
    )


def _ids(roots: Collection[Path]) -> tuple[UUID, ...]:
    known = (MetaProperties.read(root / META_PROPERTIES_NAME).directory_id for root in roots)
    return tuple(parse_uuid(each) for each in known if each is not None)
