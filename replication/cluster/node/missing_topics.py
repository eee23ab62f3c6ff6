"""Topics that clients ask for before anybody has made them (Kafka: AutoTopicCreationManager)."""

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from threading import Lock
from typing import Final

from logstore.log.state.waiters import ThreadWaiter
from logstore.topic_partition import METADATA_TOPIC
from replication.base.errors import ReplicationError
from replication.cluster.broker.requests.cluster.topic_name import INTERNAL_TOPICS, missing_topic
from replication.cluster.worker_thread import WorkerThread
from replication.wire.encoding.kio_messages import request_classes
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call
from replication.wire.server.served_api import ServedApi

CREATE_TOPICS: Final = 19
_NOT_MADE: Final = INTERNAL_TOPICS | {METADATA_TOPIC}
_BY_DEFAULT: Final = -1
_TIMEOUT: Final = timedelta(seconds=5)
_MOST_WAITING: Final = 10_000
"""Names; clients ask again for those that are left out."""


def create_missing(create: ServedApi, names: Iterable[str], call: Call) -> None:
    """Make topics with default counts, of those names that a topic may have; internal ones are left to their owners.

    `create` is what answers CreateTopics, as asked by the caller who has named them in `call`. What cannot be made, as
    too few brokers live, is not there: clients ask again.
    """
    version = create.versions.stop - 1
    classes = request_classes(CREATE_TOPICS, version)
    topics = tuple(
        classes.CreatableTopic(
            name=name, num_partitions=_BY_DEFAULT, replication_factor=_BY_DEFAULT, assignments=(), configs=()
        )
        for name in dict.fromkeys(names)
        if name not in _NOT_MADE and missing_topic(name) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    if topics:
        request = classes.CreateTopicsRequest(topics=topics, timeout=_TIMEOUT, validate_only=False)
        with suppress(ReplicationError, OSError):
            create.answer(request, call._replace(version=version))


class MissingTopicsThread(WorkerThread):
    """Creates topics, while clients that ask for them learn that they are not there yet, as by Kafka's brokers.

    A name that is asked for again meanwhile is asked of the controller once.
    """

    def __init__(self, create: ServedApi) -> None:
        """`create` is what answers CreateTopics."""
        super().__init__("missing-topics")
        self._create: Final = create
        self._waiter: Final = ThreadWaiter()
        self._lock: Final = Lock()
        self._names: Final[set[str]] = set()
        """All that wait or are being made."""
        self._wanted: Final[deque[tuple[Sequence[str], Call]]] = deque()

    def ask(self, names: Sequence[str], call: Call) -> None:
        """Want topics, as asked by the caller who has named them in `call`. It returns at once."""
        with self._lock:
            room = max(0, _MOST_WAITING - len(self._names))
            new = [name for name in dict.fromkeys(names) if name not in self._names][:room]
            self._names.update(new)
            if new:
                self._wanted.append((new, call))
        self._waiter.wake()

    def _round(self) -> None:
        if not self._wanted:
            self._waiter.wait()
            return
        names, call = self._wanted.popleft()
        try:
            create_missing(self._create, names, call)
        finally:
            with self._lock:
                self._names.difference_update(names)

    def _wake(self) -> None:
        self._waiter.wake()
