"""A fetch that names all its partitions."""

from collections.abc import Callable

from logstore import TopicPartition
from logstore.log.state.waiters import Waiter
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import Pair
from replication.cluster.broker.requests.fetch.fetch_pass import FetchPass
from replication.cluster.broker.requests.fetch.fetch_session import FetchSession
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.wire.messages.fetch import (
    NO_SESSION,
    SINCE_TOPIC_IDS,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
)


class FullFetch:
    """Reads each of them, and begins a session where that is asked for (Kafka: FullFetchContext)."""

    def __init__(
        self,
        request: FetchRequest,
        version: int,
        lookup: PartitionLookup,
        begin: Callable[[FetchSession], int] | None = None,
    ) -> None:
        """`begin` keeps a new session and returns its id; None where no session is wanted."""
        self._is_follower = request.replica_id >= 0
        self._is_by_id = version >= SINCE_TOPIC_IDS
        self._request = request
        self._lookup = lookup
        self._begin = begin
        self._topics = {topic: lookup.topic(topic_id) for topic, topic_id in request.topic_ids.items()}
        self._attended: list[HostedPartition] = []
        self._answers: dict[TopicPartition, FetchedPartition] = {}

    @property
    def has_news(self) -> bool:
        """Whether it is worth while to read again: nobody notes what happens to the partitions."""
        return True

    def read(self, fetch_pass: FetchPass) -> None:
        """Read all partitions."""
        find, read, topics = self._lookup.copy, fetch_pass.read, self._topics
        partition: Pair | None
        topic_id = None
        answers: dict[TopicPartition, FetchedPartition] = {}
        for key, asked in self._request.partitions.items():
            partition = key
            if topics:
                topic, number = key
                name, topic_id = topics[topic]
                partition = None if name is None else (name, number)
            hosted = None if partition is None else find(partition)
            answers[key] = read(partition, hosted, topic_id, asked)
        self._answers = answers

    def finish(self) -> FetchResponse:
        """Return what was read last."""
        request, answers = self._request, self._answers
        session_id = NO_SESSION
        if self._begin is not None:
            session_id = self._begin(FetchSession(request, answers, is_by_id=self._is_by_id))
        return FetchResponse(session_id=session_id, partitions=answers, topic_ids=request.topic_ids)

    def attend(self, waiter: Waiter) -> None:
        """Wake it whenever something happens to one of the partitions."""
        for key in self._request.partitions:
            name = self._topics[key.topic][0] if self._topics else key.topic
            hosted = None if name is None else self._lookup.copy((name, key.partition))
            if hosted is not None:
                hosted.attend(waiter, watermark=not self._is_follower)  # which reads up to the end
                self._attended.append(hosted)

    def leave(self, waiter: Waiter) -> None:
        """Wake it no more."""
        for hosted in self._attended:
            hosted.leave(waiter)
        self._attended.clear()
