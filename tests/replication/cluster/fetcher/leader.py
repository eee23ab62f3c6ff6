"""A leader without a network: the bytes of a follower's requests go straight to what answers them in a broker."""

from replication.cluster.fetcher.fetcher import FetcherRequest, FetcherResponse
from replication.wire.client.exchange import Exchange
from replication.wire.server.authentication import NoSasl
from replication.wire.server.call import Caller
from replication.wire.server.conversation import Conversation, Waiting
from replication.wire.server.offered_versions import OfferedVersions
from tests.replication.lone_broker import BROKER, LoneBroker

FOLLOWERS = (2, 3, 4, 5)
LENGTH_SIZE = 4


class Leader(LoneBroker):
    """Answers at once, also where a broker would wait for records."""

    def __init__(self, *, broker: int = BROKER, followers: tuple[int, ...] = FOLLOWERS) -> None:
        super().__init__(broker=broker, followers=followers)
        self.exchanges: list[tuple[FetcherRequest, FetcherResponse]] = []
        self.forget_sessions()

    @property
    def asked(self) -> list[FetcherRequest]:
        """All requests, for who wants to see them."""
        return [request for request, _ in self.exchanges]

    def forget_sessions(self) -> None:
        """As a broker does that is started anew."""
        apis = self.apis()
        self._conversation = Conversation(apis, OfferedVersions(apis), NoSasl(Caller("127.0.0.1")))

    def answer(self, request: FetcherRequest) -> FetcherResponse:
        exchange = Exchange("follower")
        _, frame = exchange.ask(request)
        parts = self._conversation.receive(memoryview(frame)[LENGTH_SIZE:])
        if isinstance(parts, Waiting):
            parts = parts.parts(now=parts.deadline) or []
        answer: FetcherResponse
        _, answer = exchange.answer(memoryview(b"".join(parts))[LENGTH_SIZE:])
        self.exchanges.append((request, answer))
        return answer
