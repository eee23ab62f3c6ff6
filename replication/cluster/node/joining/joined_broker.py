"""A broker of a cluster whose controllers are elsewhere: directories, link and broker of one process."""

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from epoch.filesystem import REAL, FileSystem
from logstore import LogObserver
from logstore.clock import WatchedClock
from logstore.closing import close_after
from logstore.directory.directory_settings import DirectorySettings
from replication.base.stop_request import StopRequest
from replication.cluster.broker.broker_home import BrokerHome
from replication.cluster.node.broker_node import BrokerNode
from replication.cluster.node.broker_node_settings import BrokerNodeSettings
from replication.cluster.node.joining.controller_probe import ensure_answers
from replication.cluster.node.joining.formatted_roots import FormattedRoots
from replication.cluster.node.network_link import NetworkLink
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.cluster.quorum.snapshot_terms import SnapshotTerms
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.errors import InvalidSettingsError

_SNAPSHOTS: Final = SnapshotTerms()


class JoinedBroker:
    """Leads and follows as a member of a cluster, ours or Kafka's, from formatted log.dirs.

    Other brokers coordinate groups and transactions: its settings must say `coordinates_groups=False`.

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
        snapshots: SnapshotTerms = _SNAPSHOTS,
        observer: LogObserver | None = None,
        stop: StopRequest | None = None,
    ) -> Self:
        """Open log.dirs and join the cluster that they are formatted for.

        `controllers` are the ones to try first, and `client_settings` how their listener is protected. The copy of the
        metadata is kept in `metadata_root`, by default the first of the log.dirs. In those that are `cordoned` the
        controller places no new replicas (Kafka 4.3 and later); None leaves that as `settings` have it. `filesystem` is
        how logs and metadata are written. By the terms of `snapshots` the copy of the metadata does not grow for ever.
        All logs have the `observer`. Where `stop` is made meanwhile, it ends in order with StopRequestedError.

        Those whose disks fail are offline, where another one is left; but for that of the metadata.
        Before anything is changed InconsistentDirectoriesError is raised where the directories are not formatted, not
        those of one broker, or not of `node_id`, or are locked; MetadataRefusedError where the controllers'
        cluster is another; NoControllerError where none of them answers; InvalidSettingsError where by the settings it
        would coordinate groups that others coordinate too. Raises what `LocalMetadata.open`,
        `LogDirectories.open` and `BrokerNode` raise as well, with all closed again.
        """
        if settings.coordinates_groups:
            raise InvalidSettingsError(
                "a broker that joins a cluster coordinates no groups, as others do: give coordinates_groups=False"
            )
        client_settings = client_settings or ClientSettings()
        stop = stop or StopRequest()
        copy_in = metadata_root or roots[0]
        formatted = FormattedRoots(roots, node_id, copy_in)
        ensure_answers(controllers, formatted.identity, client_settings, settings.registration_seconds, stop)
        with ExitStack() as stack:
            # First: a log within a root that is locked by its process cannot be opened by itself.
            metadata = LocalMetadata.open(copy_in, filesystem)
            stack.callback(metadata.close)
            directory_settings = directory_settings or DirectorySettings()
            # Until the controllers' own is known by the records that they write, as of this broker's registration.
            clock = WatchedClock(jump_max_ms=directory_settings.log_clock_jump_max_ms, is_confirmed=False)
            home = BrokerHome.open(stack, roots, directory_settings, observer, clock=clock, filesystem=filesystem)
            if cordoned is not None:
                settings = replace(settings, cordoned=formatted.ids(cordoned))
            link = NetworkLink(
                controllers, home.identity, client_settings, metadata=metadata, snapshots=snapshots, hear=clock.hear
            )
            node = stack.enter_context(BrokerNode(link, home.directories, settings, stop, home.counts))
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
