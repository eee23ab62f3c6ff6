"""What a broker asks of its controller by the way, one request at a time."""

from typing import Protocol, TypeVar

from replication.cluster.broker.lifecycle.controller_channel import Answer
from replication.wire.messages.request import Request

AnswerT = TypeVar("AnswerT", bound=Answer)


class ControllerRequests(Protocol[AnswerT]):
    """Decides what is asked and what follows from the answers; who asks, by a thread or in a simulation, owns it."""

    @property
    def again_ms(self) -> int:
        """How long to wait before what was not granted is asked again."""

    def next(self, broker_epoch: int) -> Request[AnswerT] | None:
        """Return what is to be asked now; None where nothing is. `answered` or `failed` comes before the next."""

    def answered(self, answer: AnswerT, *, may_arrive_late: bool) -> bool:
        """Handle the last request's answer; return whether nothing is to be asked again, after `again_ms`.

        What else there is to ask is asked at once, as by Kafka's AlterPartitionManager. `may_arrive_late` says whether
        something asked before, and not answered, may still reach the controller.
        """

    def failed(self, reason: str) -> None:
        """Note that the last request was not answered, and why: it is asked again."""
