"""A broker in this process that leads partitions with logs of ours: the product's server and answers, on loopback.

with WireLeader() as leader:
    leader.lead(TopicPartition("orders", 0), log, leader_epoch=1)
    ...  # clients connect to leader.bootstrap
"""

from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

from logstore.log.state.waiters import Waiter
from replication.cluster.broker.requests.cluster.features import features_of
from replication.wire.addresses import Address
from replication.wire.server.call import Call
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.pending import Pending
from replication.wire.server.served_api import ServedApi
from replication.wire.server.server import Server
from tests.replication.lone_broker import LISTENER, LoneBroker


class WireLeader(LoneBroker):
    """Listens, and answers while nobody holds it."""

    def __init__(self, cluster_id: str = "wire", *, followers: Sequence[int] = ()) -> None:
        super().__init__(cluster_id, followers=followers)
        self._server = Server([ListenerSettings(address=Address("127.0.0.1", 0), name=LISTENER)])

    @property
    def address(self) -> Address:
        return self._server.addresses[LISTENER]

    @property
    def bootstrap(self) -> str:
        return str(self.address)

    def __enter__(self) -> Self:
        held = {key: ServedApi(api.versions, partial(self._answer, api.answer)) for key, api in self.apis().items()}
        self._server.start(held, lambda: features_of(self.cluster))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Be gone: nobody listens any more."""
        self._server.stop()

    def hang_up(self) -> None:
        """End all connections."""
        for connection in list(self._server._connections._open):
            connection.end()

    def tell(self, answer: Any) -> Any:
        """Return what is sent in place of an answer: the truth."""
        return answer

    def _answer(self, answer: Callable[[Any, Call], Any], request: Any, call: Call) -> Any:
        with self.held:
            found = answer(request, call)
        return Held(found, self) if hasattr(found, "attend") else self.tell(found)


class Held:
    """An answer that waits, and looks at the logs only where nobody changes them."""

    def __init__(self, pending: Pending, leader: WireLeader) -> None:
        self._pending = pending
        self._leader = leader

    @property
    def deadline(self) -> float:
        return self._pending.deadline

    def attend(self, waiter: Waiter) -> None:
        self._pending.attend(waiter)

    def leave(self, waiter: Waiter) -> None:
        self._pending.leave(waiter)

    def answer(self) -> Any | None:
        return self._told(self._pending.answer)

    def expire(self) -> Any | None:
        return self._told(self._pending.expire)

    def _told(self, look: Callable[[], Any | None]) -> Any | None:
        with self._leader.held:
            found = look()
        return None if found is None else self._leader.tell(found)
