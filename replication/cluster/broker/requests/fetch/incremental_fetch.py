"""A fetch of a session: of its partitions only those are answered that have news."""

from logstore import TopicPartition
from logstore.log.state.waiters import Waiter
from replication.cluster.broker.requests.fetch.fetch_pass import FetchPass
from replication.cluster.broker.requests.fetch.fetch_session import FetchSession
from replication.cluster.broker.requests.fetch.watched_partition import WatchedPartition
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchedPartition, FetchResponse


class IncrementalFetch:
    """Reads what may have news (Kafka: IncrementalFetchContext)."""

    def __init__(self, session: FetchSession, lookup: PartitionLookup) -> None:
        """Go on with a session, in the epoch that it has now."""
        self._session = session
        self._epoch = session.epoch
        self._lookup = lookup
        self._latest: object = None
        self._news: list[tuple[WatchedPartition, FetchedPartition]] = []

    @property
    def has_news(self) -> bool:
        """Whether anything has happened to a partition since they were read."""
        return self._session.news.latest is not self._latest

    def read(self, fetch_pass: FetchPass) -> None:
        """Read the partitions that something may have happened to."""
        self._news = []
        self._latest = self._session.news.latest
        due = self._session.news.in_turn()
        fetch_pass.is_anything_known = len(due) < len(self._session)
        for watched in (*due, *fetch_pass.refused(self._session.others(due))):
            # First, so that what happens from here on is noted.
            self._session.news.forget(watched)
            partition = self._partition(watched)
            hosted = None if partition is None else self._lookup.copy(partition)
            watched.watch(hosted)
            answer = fetch_pass.read(partition, hosted, watched.topic_id, watched.asked)
            is_news = watched.is_news(answer)
            if is_news:
                self._news.append((watched, answer))
            if is_news or not fetch_pass.is_quiet:
                self._session.news.keep(watched)

    def finish(self) -> FetchResponse:
        """Return what was read last, and remember that the client knows it."""
        session = self._session
        if session.epoch != self._epoch:
            return FetchResponse(error=ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id=session.id, partitions={})
        for watched, answer in self._news:
            watched.tell(answer)
            if answer.records:
                session.move_back(watched)
        ids = {watched.key.topic: watched.topic_id for watched, _ in self._news if watched.topic_id is not None}
        answers = {watched.key: answer for watched, answer in self._news}
        return FetchResponse(session_id=session.id, partitions=answers, topic_ids=ids)

    def attend(self, waiter: Waiter) -> None:
        """Wake it by news."""
        self._session.news.waiter = waiter

    def leave(self, waiter: Waiter) -> None:
        """Wake it no more, unless another fetch of the session waits by now."""
        if self._session.news.waiter is waiter:
            self._session.news.waiter = None

    def _partition(self, watched: WatchedPartition) -> TopicPartition | None:
        if watched.topic_id is None:
            return watched.key
        name, watched.topic_id = self._lookup.topic(watched.topic_id)
        return None if name is None else TopicPartition(name, watched.key.partition)
