"""A controller that is alone, at an address of its own."""

from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self
from uuid import UUID

from replication.broker.broker_settings import SUPPORTED_FEATURES
from replication.server.advertised_address import advertised_address
from replication.server.connections.listener_settings import ListenerSettings
from replication.server.offered_versions import Features
from replication.server.served_api import ServedApis
from replication.server.server import Server
from replication.server.server_limits import ServerLimits
from replication.standalone.quorum.controller_apis import controller_apis
from replication.standalone.quorum.led_quorum import LedQuorum
from replication.standalone.quorum.quorum_messages import quorum_messages
from replication.standalone.static_controller import StaticController


class ControllerServer:
    """Answers brokers as the active controller of a KRaft quorum does, and administrators (Kafka: ControllerServer).

    >>> with ControllerServer(controller, 100, ListenerSettings(name="CONTROLLER", address=address)) as server:
    ...     print(f"controller.quorum.voters=100@{server.address}")

    Brokers are ours or Kafka's. The quorum has one voter, and it is no other than this one.
    """

    def __init__(
        self,
        controller: StaticController,
        node_id: int,
        listener: ListenerSettings,
        *,
        directory_id: UUID | None = None,
        advertised_host: str | None = None,
        limits: ServerLimits | None = None,
    ) -> None:
        """Listen and answer. The controller stays the caller's, and with it who lets it do what is due.

        `node_id` is no broker's. With a `directory_id`, of the metadata's directory, the log says who the voter is and
        where it listens (KIP-853), so that brokers need no more than `controller.quorum.bootstrap.servers`; without one
        they need `controller.quorum.voters`. `advertised_host` is where brokers are told that it listens; None: where
        it does. Raises CannotListenError, InvalidSettingsError, ResourceLimitError and ControllerFailedError.
        """
        self._controller: Final = controller
        with ExitStack() as stack:
            server = stack.enter_context(Server([listener], limits))
            self.address: Final = advertised_address(server.addresses[listener.name], advertised_host)
            """Where brokers are told that it listens."""
            self.quorum: Final = LedQuorum(controller, node_id, self.address, directory_id)
            """What it tells of itself and of those that follow."""
            if directory_id is not None:
                controller.announce(*quorum_messages(self.quorum, listener.name))
            server.start(self._apis(), self._features)
            self._open: Final = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Answer nobody any more; it may be called again."""
        self._open.close()

    def _apis(self) -> ServedApis:
        return controller_apis(self._controller, self.quorum)

    def _features(self) -> Features:
        published = self._controller.published
        levels = {**published.image.features, **self.quorum.features}
        finalized = {name: range(level, level + 1) for name, level in levels.items()}
        return Features(SUPPORTED_FEATURES, finalized, published.applied_offset)
