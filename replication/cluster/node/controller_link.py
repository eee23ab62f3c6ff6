"""What joins a broker to its controller, wherever that is."""

from typing import Protocol

from logstore.log.state.waiters import Waiter
from replication.base.errors import ReplicationError
from replication.cluster.broker.lifecycle.controller_channel import AnswerT, Channel
from replication.cluster.broker.lifecycle.errors import NoControllerError
from replication.cluster.node.metadata_feed import MetadataNews
from replication.cluster.quorum.quorum_standing import QuorumStanding
from replication.wire.messages.request import Request
from replication.wire.server.served_api import ServedApis


class MetadataSource(Protocol):
    """What one broker hears of its cluster's metadata."""

    @property
    def as_of_ms(self) -> int:
        """As of when the last `take` has returned all that was committed, by the monotonic clock; -1 before that."""

    def take(self) -> MetadataNews | None:
        """Return all that has come as one, the first time with all that is known; None where nothing has.

        Raises what keeps the metadata from being followed any further.
        """

    def close(self) -> None:
        """Hear no more."""


class ControllerLink(Protocol):
    """By which one broker, in one start, asks the controller and hears the metadata. Thread-safe."""

    @property
    def is_remote(self) -> bool:
        """Whether answers come over a network, and may take as long as its time-outs."""

    def begin(self, broker_id: int) -> None:
        """Prepare for the broker's registration, which follows."""

    def channel(self) -> Channel:
        """Return what one thread asks by; whoever has it closes it."""

    def metadata(self, waiter: Waiter) -> MetadataSource:
        """Return the feed of the metadata; the waiter, held weakly, is woken by each change."""

    def standing(self) -> QuorumStanding | None:
        """Return where the broker stands as an observer of the quorum; None where it follows none."""

    def administration(self, node_id: int) -> ServedApis:
        """Return how a broker answers what administrators ask the controller through it."""

    def close(self) -> None:
        """End it, once nothing that it has given is used any more."""


def asked(channel: Channel, request: Request[AnswerT]) -> AnswerT:
    """Return the controller's answer. Raises NoControllerError, whatever keeps it from answering."""
    try:
        return channel.ask(request)
    except NoControllerError:
        raise
    except ReplicationError as error:
        raise NoControllerError(str(error)) from error
