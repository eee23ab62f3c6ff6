"""Whether the controller may have fenced a broker, as far as that broker can tell by its own clock."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from replication.broker.requests.writing.produce_work import no_answer
from replication.clock import monotonic_ms
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.produce import ProducedPartition, ProduceRequest, ProduceResponse
from replication.server.call import Call
from replication.server.pending import Pending
from replication.server.served_api import ServedApi


class OwnSession:
    """Lasts for some time from when a heartbeat was sent whose answer lets it serve: the controller's lasts longer.

    A leader whose session is over may have been replaced. What waits for acks=all is not answered then anyway, as the
    followers have gone; but for acks=1 the leader asks nobody. Once it is heard again it is a leader still, until the
    metadata comes that says otherwise.
    """

    def __init__(self, heard_at: Callable[[], int], timeout_ms: int, clock: Callable[[], int] = monotonic_ms) -> None:
        """`heard_at` tells when that heartbeat was sent, by the same clock, in milliseconds."""
        self._heard_at: Final = heard_at
        self._timeout_ms: Final = timeout_ms
        self._clock: Final = clock

    def is_over(self) -> bool:
        """Whether it is over, unless the controller has heard of the broker since."""
        return self._clock() - self._heard_at() >= self._timeout_ms

    def guarded(self, produce: ServedApi) -> ServedApi:
        """Return Produce as it is answered while the session lasts, and refused after that."""
        return replace(produce, answer=self._guarded(produce.answer))

    def _guarded(self, answer: Callable[[Any, Call], Any]) -> Callable[[ProduceRequest, Call], Any]:
        def guarded(request: ProduceRequest, call: Call) -> ProduceResponse | Pending | None:
            if self.is_over():
                return _refused(request)
            answered: ProduceResponse | Pending | None = answer(request, call)
            # It may have taken long: what was appended meanwhile is in doubt, and its producer sends it again.
            return _refused(request) if isinstance(answered, ProduceResponse) and self.is_over() else answered

        return guarded


def _refused(request: ProduceRequest) -> ProduceResponse:
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    if request.acks == 0:
        raise no_answer({str(key): error.name for key in request.partitions})
    return ProduceResponse(
        partitions=dict.fromkeys(request.partitions, ProducedPartition(error)), topic_ids=request.topic_ids
    )
