"""A controller as the brokers of its process reach it."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from logstore.log.state.waiters import Waiter
from replication.controller.controller import Controller
from replication.controller.decision import Decision
from replication.standalone.metadata_feed import MetadataFeed

T = TypeVar("T")


class ReachedController(Protocol):
    """`StaticController`, or what stands between it and a broker."""

    def decide(self, make: Callable[[Controller], Decision[T]]) -> T:
        """Return the controller's answer. Raises Refusal, ControllerFailedError, and ControllerUnreachableError."""

    def end_session(self, broker_id: int) -> None:
        """Let a broker register anew at once."""

    def feed(self, waiter: Waiter) -> MetadataFeed:
        """Return what tells one broker of all changes from now on."""

    def drop(self, feed: MetadataFeed) -> None:
        """Let a broker hear no more."""
