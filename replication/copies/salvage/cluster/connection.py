"""A connection to the cluster that takes the records: what it is asked, and how its errors are reported."""

import logging
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from replication.copies.salvage.cluster.errors import ClusterError

DEFAULT_TIMEOUT: Final = 30.0
PATIENCE: Final = 2.0
"""Seconds in which no broker could be reached, after which none is expected to be."""
Answer = TypeVar("Answer")
_LOGGER: Final = logging.getLogger("epochlog.confluent_kafka")
_LOGGER.addHandler(logging.NullHandler())  # what is wrong is told by errors; who wants more may listen
_UNREACHABLE: Final = frozenset(
    {"_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_AUTHENTICATION", "_SSL"}
)
_FENCED: Final = (
    "either another run of salvage has begun since, and continues with it, or this transaction was open for so long "
    "that the cluster has ended it, as over a slow link; unless another one runs, run this again"
)
_MEANINGS: Final = {
    "_FENCED": _FENCED,
    "PRODUCER_FENCED": _FENCED,
    "INVALID_PRODUCER_EPOCH": _FENCED,
    "INVALID_TRANSACTION_TIMEOUT": "its transactions may be open for 5 minutes, and the brokers' "
    "transaction.max.timeout.ms is less: raise it to 300000",
}
"""Of errors whose own words do not say what to do."""


@dataclass(slots=True)
class Connection:
    """The settings of the client, as confluent-kafka takes them, and what it last complained of."""

    client: Mapping[str, object]
    """`bootstrap.servers` and how to be let in."""
    timeout: float = DEFAULT_TIMEOUT
    """Seconds to wait for an answer."""
    _complaint: str = field(default="", init=False)
    _down_since: float | None = field(default=None, init=False)

    def settings(self, **more: Any) -> dict[str, Any]:
        """Return the settings of a client, with those under Kafka's names with _ for dots."""
        own = {name.replace("_", "."): value for name, value in more.items()}
        own |= {"error_cb": self._note, "logger": _LOGGER}
        return {"client.id": "epochlog", **self.client, **own}

    @contextmanager
    def asking(self, what: str) -> Iterator[None]:
        """Raise ClusterError where `what` fails that is done in the block."""
        try:
            yield
        except KafkaException as exception:
            raise self.error(what, exception) from exception

    def error(self, what: str, exception: KafkaException) -> ClusterError:
        """Return an error that says what failed, and why as far as it is known."""
        reason: KafkaError = exception.args[0]
        told = _MEANINGS.get(reason.name(), f"{reason.str()} ({reason.name()})")
        where = self.client.get("bootstrap.servers", "the cluster")
        if reason.name() in _UNREACHABLE and self._complaint:
            told = f"{told}: {self._complaint}"
        return ClusterError(f"{where}: {what}: {told}")

    def answer(self, admin: AdminClient, asked: Future[Answer]) -> Answer:
        """Wait for the first answer of a cluster, but only for seconds where no broker can be reached at all.

        The client itself goes on trying until the time for an answer is over. Raises KafkaException.
        """
        while not asked.done():
            admin.poll(0.1)  # lets the client say what it complains of
            if self._down_since is not None and time.monotonic() - self._down_since > PATIENCE:
                raise KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))  # noqa: SLF001  it is documented
        return asked.result()

    def _note(self, error: KafkaError) -> None:
        if error.code() != KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001  as above
            self._complaint = error.str()
        elif self._down_since is None:
            self._down_since = time.monotonic()
