"""A controller of the ZooKeeper era as a whole: its session, its listener, and its threads."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final, Self

from replication.cluster.classic.channels import Channels
from replication.cluster.classic.controller_thread import ClassicControllerThread
from replication.cluster.classic.guarded_controller import GuardedController
from replication.cluster.classic.requests.administration import Administration
from replication.cluster.classic.requests.broker_requests import BrokerRequests
from replication.cluster.classic.requests.passed_on import PassedOn
from replication.cluster.controller.classic.controller import RunState
from replication.cluster.controller.classic.registered_broker import RegisteredBroker
from replication.cluster.controller.classic.settings import ClassicSettings
from replication.cluster.controller.classic.store.zookeeper_store import ZooKeeperStore
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.messages.broker_registration import Listener
from replication.wire.server.advertised_address import advertised_address
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.server import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicNodeSettings:
    """What such a controller is started with."""

    broker_id: int
    """Of its own: no broker may have it."""
    zookeeper: str
    """`host:port,...` with an optional /chroot behind (Kafka: zookeeper.connect)."""
    session_seconds: float = 18.0
    """After so long without it another controller takes over (Kafka: zookeeper.session.timeout.ms)."""
    connect_seconds: float = 18.0
    """How long the first session is waited for (Kafka: zookeeper.connection.timeout.ms)."""
    listen: Address
    listener: str = "PLAINTEXT"
    """By which brokers reach each other, and this controller (Kafka: inter.broker.listener.name)."""
    advertised: Address | None = None
    controller: ClassicSettings = field(default_factory=lambda: ClassicSettings(topic_ids=True))
    to_brokers: ClientSettings = field(default_factory=lambda: ClientSettings(client_id="epochlog-controller"))


class ClassicNode:
    """Stands for election until it is closed, and commands brokers while it is elected."""

    def __init__(self, controller: GuardedController, thread: ClassicControllerThread, listener: Listener) -> None:
        """Use `open`."""
        self._controller: Final = controller
        self._thread: Final = thread
        self.listener: Final = listener
        """Where brokers find it."""

    @classmethod
    @contextmanager
    def open(cls, settings: ClassicNodeSettings) -> Iterator[Self]:
        """Run it meanwhile; then it resigns, so that another is elected at once.

        Raises StoreUnreachableError where no ZooKeeper answers, CannotListenError, and ResourceLimitError.
        """
        with ExitStack() as stack:
            address = ListenerSettings(address=settings.listen, name=settings.listener)
            server = stack.enter_context(Server([address]))
            listens = advertised_address(server.addresses[settings.listener])
            host, port = settings.advertised or listens
            own = Listener(settings.listener, host, port or listens.port)
            store = ZooKeeperStore(
                settings.zookeeper, session_timeout=settings.session_seconds, connect_timeout=settings.connect_seconds
            )
            stack.callback(store.close)
            registered = RegisteredBroker(listeners=(own,))
            controller = GuardedController(settings.broker_id, store, settings.controller, registered)
            channels = Channels(controller, settings.listener, settings.to_brokers)
            stack.callback(channels.stop)
            controller.changed = channels.follow
            stack.callback(_leave, controller, store)
            passed_on = PassedOn(lambda: _addresses(controller, settings.listener), settings.to_brokers)
            apis = {**passed_on.apis(), **BrokerRequests(controller).apis(), **Administration(controller).apis()}
            server.start(apis)
            thread = ClassicControllerThread(controller)
            stack.callback(thread.stop)
            thread.start()
            yield cls(controller, thread, own)

    @property
    def is_controller(self) -> bool:
        """Whether it is elected."""
        return self._controller.state is RunState.CONTROLLER

    @property
    def epoch(self) -> int:
        """The controller epoch that it was elected with last."""
        return self._controller.epoch

    @property
    def broker_epochs(self) -> Mapping[int, int]:
        """Of the brokers that it commands, by id."""
        return {broker_id: broker.epoch for broker_id, (broker, _) in self._controller.brokers().items()}

    @property
    def failure(self) -> BaseException | None:
        """Why it cannot go on; None while it can."""
        return self._thread.failure


def _leave(controller: GuardedController, store: ZooKeeperStore) -> None:
    """Resign, so that another one is elected at once; where ZooKeeper is away, once the session is over."""
    if store.is_away:
        store.close()
    else:
        controller.resign()


def _addresses(controller: GuardedController, listener: str) -> list[Address]:
    found = (broker.listener(listener) for broker, _ in controller.brokers().values())
    return [Address(each.host, each.port) for each in found if each is not None]
