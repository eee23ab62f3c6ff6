"""A controller by itself: its directory, what it decides, and the listener by which brokers reach it."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from logstore.files.partition_metadata import parse_uuid
from replication.cluster.controller.controller import ControllerSettings
from replication.cluster.standalone.controller_work import at_work
from replication.cluster.standalone.errors import NotFormattedError
from replication.cluster.standalone.formatting import ensure_formatted, owner_of
from replication.cluster.standalone.known_voters import ensure_sole_voter
from replication.cluster.standalone.new_cluster import begin_cluster
from replication.cluster.standalone.quorum.controller_server import ControllerServer
from replication.cluster.standalone.static_controller import StaticController
from replication.cluster.standalone.stored_metadata import StoredMetadata
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.server_limits import ServerLimits

_DEFAULT: Final = ControllerSettings()


class StandaloneController:
    """The only controller of a cluster, whose brokers are elsewhere (Kafka: process.roles=controller).

    >>> listener = ListenerSettings(name="CONTROLLER", address=Address("127.0.0.1", 9093))
    >>> with StandaloneController.open(Path("metadata"), listener, node_id=100) as node:
    ...     print(f"controller.quorum.bootstrap.servers={node.server.address}")
    """

    def __init__(self, stack: ExitStack, controller: StaticController, server: ControllerServer) -> None:
        """See `open`."""
        self.controller: Final = controller
        """What decides."""
        self.server: Final = server
        """Where it is asked."""
        self._open: Final = stack

    @classmethod
    def open(
        cls,
        root: Path,
        listener: ListenerSettings,
        settings: ControllerSettings = _DEFAULT,
        *,
        node_id: int | None = None,
        cluster_id: str | None = None,
        advertised_host: str | None = None,
        limits: ServerLimits | None = None,
    ) -> Self:
        """Go on from what lies in a directory, or begin a cluster in a new or empty one.

        `node_id` and `cluster_id` are a new directory's, which gets node 1 and an id that nobody has; a directory that
        is not new keeps its own, and must be the node's if one is given. Where Kafka's controller has left it, brokers
        find the voter as they did before. Raises what `ensure_formatted`, `ensure_sole_voter`, `StoredMetadata.open`,
        `StaticController` and `ControllerServer` raise, with all closed again.
        """
        with ExitStack() as stack:
            ensure_formatted([root], node_id, cluster_id)
            owner = owner_of(root, node_id)
            if owner.cluster_id is None or owner.node_id is None:
                raise NotFormattedError(root)
            voters = ensure_sole_voter(root, node_id)
            metadata = StoredMetadata.open(root)
            stack.callback(metadata.close)
            directory_id = None if voters.is_in_settings else owner.directory_id
            controller = StaticController(owner.cluster_id, metadata, settings)
            begin_cluster(controller)
            stack.enter_context(at_work(controller))
            server = ControllerServer(
                controller,
                owner.node_id,
                listener,
                directory_id=None if directory_id is None else parse_uuid(directory_id),
                advertised_host=advertised_host,
                limits=limits,
            )
            stack.callback(server.close)
            return cls(stack.pop_all(), controller, server)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def failure(self) -> BaseException | None:
        """Why it decides nothing more; None as long as it does."""
        return self.controller.failure

    def close(self) -> None:
        """Answer nobody any more, and let go of the files; it may be called again."""
        self._open.close()
