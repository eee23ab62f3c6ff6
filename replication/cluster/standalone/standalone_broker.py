"""A broker that needs nobody else: directories, controller and broker of one process."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from logstore import LogObserver
from logstore.closing import close_after
from logstore.directory.directory_settings import DirectorySettings
from replication.cluster.broker.broker_home import BrokerHome
from replication.cluster.controller.controller import ControllerSettings
from replication.cluster.node.broker_node import BrokerNode
from replication.cluster.node.broker_node_settings import BrokerNodeSettings
from replication.cluster.standalone.controller_work import at_work
from replication.cluster.standalone.formatting import ensure_formatted, metadata_root
from replication.cluster.standalone.known_voters import ensure_sole_voter
from replication.cluster.standalone.local_link import LocalLink
from replication.cluster.standalone.new_cluster import begin_cluster
from replication.cluster.standalone.static_controller import StaticController
from replication.cluster.standalone.stored_metadata import StoredMetadata

_DEFAULT: Final = ControllerSettings()


class StandaloneBroker:
    """Leads the partitions of its log.dirs, of its own or as another broker has left them.

    >>> settings = BrokerNodeSettings(listener=ListenerSettings(address=Address("127.0.0.1", 9092)))
    >>> with StandaloneBroker.open([Path("data")], settings) as broker:
    ...     print(broker.local.address)
    """

    def __init__(self, stack: ExitStack, controller: StaticController, local: BrokerNode, new: list[Path]) -> None:
        """See `open`."""
        self.controller: Final = controller
        self.local: Final = local
        """The broker itself."""
        self.new_roots: Final = new
        """The directories that have been made or formatted now."""
        self._open: Final = stack

    @classmethod
    def open(
        cls,
        roots: Sequence[Path],
        settings: BrokerNodeSettings,
        controller_settings: ControllerSettings = _DEFAULT,
        *,
        node_id: int | None = None,
        directory_settings: DirectorySettings | None = None,
        observer: LogObserver | None = None,
    ) -> Self:
        """Open log.dirs, of which new or empty ones become this broker's, and answer clients.

        The `node_id` has to be that of the directories if it is given; new ones are of broker 1 else.
        A new cluster begins in new directories. Other brokers that the metadata knows are fenced when their sessions
        have run out. All logs have the `observer`. Raises what `metadata_root`, `ensure_sole_voter`,
        `ensure_formatted`, `LogDirectories.open`, `StoredMetadata.open` and `BrokerNode` raise, with all closed again.
        """
        with ExitStack() as stack:
            metadata_in = metadata_root(roots)
            voters = ensure_sole_voter(metadata_in, node_id)
            new = ensure_formatted(roots, node_id)
            # First: a log within a root that is locked by its process cannot be opened by itself.
            metadata = StoredMetadata.open(metadata_in)
            stack.callback(metadata.close)
            home = BrokerHome.open(stack, roots, directory_settings, observer)
            if not voters.are_in_log:
                metadata.remember_voter(home.identity.broker_id)
            controller = StaticController(home.identity.cluster_id, metadata, controller_settings)
            begin_cluster(controller)
            stack.enter_context(at_work(controller))
            # A root that is empty as its disk is not mounted is formatted, too: that does not say that all is lost.
            cautious = replace(settings, remakes_only_replicas=False)
            node = BrokerNode(LocalLink(controller), home.directories, cautious, event_counts=home.counts)
            local = stack.enter_context(node)
            return cls(stack.pop_all(), controller, local, new)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        close_after(error, self.close)

    @property
    def strays(self) -> list[Path]:
        """The directories that were set aside, now or earlier: by the metadata they are not this broker's."""
        return self.local.strays

    @property
    def failure(self) -> BaseException | None:
        """Why it cannot go on; None as long as it can."""
        return self.controller.failure or self.local.failure

    def close(self) -> None:
        """Stop in order: leaderships, connections, logs with their checkpoints, metadata. It may be called again."""
        if self.controller.failure is not None:
            # Nobody is there to hand the leaderships over to.
            self.local.abandon()
        self._open.close()
