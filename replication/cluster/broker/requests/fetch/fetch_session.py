"""What a client fetches again and again, so that its requests name only what changes (KIP-227)."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Final
from uuid import UUID

from logstore import TopicPartition
from replication.cluster.broker.requests.fetch.fetch_news import FetchNews
from replication.cluster.broker.requests.fetch.watched_partition import WatchedPartition
from replication.wire.messages.fetch import INITIAL_SESSION_EPOCH, FetchedPartition, FetchPartition, FetchRequest

_LAST_EPOCH: Final = 2**31 - 1


def next_epoch(epoch: int) -> int:
    """Return the epoch of a session's next fetch: after the last one they begin at 1 again (Kafka: FetchMetadata)."""
    return 1 if epoch == _LAST_EPOCH else epoch + 1


class FetchSession:
    """The partitions of a session, and which of them may have news (Kafka: FetchSession)."""

    def __init__(
        self, request: FetchRequest, told: Mapping[TopicPartition, FetchedPartition], *, is_by_id: bool
    ) -> None:
        """Begin with a full fetch, which names topics by id or not, and its answer."""
        self.id: int = 0
        """Given by the cache."""
        self.epoch: int = next_epoch(INITIAL_SESSION_EPOCH)
        """Of the fetch that is expected next."""
        self.is_by_id: bool = is_by_id
        self.is_follower: bool = request.replica_id >= 0
        self.news: FetchNews[WatchedPartition] = FetchNews()
        self._viewpoint: object = None
        self._turns = count()
        self._partitions: dict[TopicPartition, WatchedPartition] = {}
        self._ask(request.partitions, request.topic_ids)
        for key, answer in told.items():
            watched = self._partitions[key]
            watched.tell(answer)

    def __len__(self) -> int:
        return len(self._partitions)

    def others(self, due: Iterable[WatchedPartition]) -> Iterator[WatchedPartition]:
        """Yield the partitions that are not due."""
        known = set(due)
        for watched in self._partitions.values():
            if watched not in known:
                yield watched

    def update(self, request: FetchRequest) -> None:
        """Apply the changes of a later fetch."""
        self._ask(request.partitions, request.topic_ids)
        self._drop(request.forgotten)

    def see_from(self, viewpoint: object) -> None:
        """Look at all partitions again where the client may see others than at the fetch before."""
        if viewpoint != self._viewpoint:
            self._viewpoint = viewpoint
            for watched in self._partitions.values():
                self.news.keep(watched)

    def move_back(self, watched: WatchedPartition) -> None:
        """Move a partition that had records behind the others for the next fetch."""
        watched.turn = next(self._turns)

    def close(self) -> None:
        """Hear no more of its partitions."""
        self._drop(tuple(self._partitions))

    def _ask(self, partitions: Mapping[TopicPartition, FetchPartition], topic_ids: Mapping[str, UUID]) -> None:
        for key, asked in partitions.items():
            watched = self._partitions.get(key)
            if watched is None:
                topic_id = topic_ids.get(key.topic)
                watched = WatchedPartition(
                    key, topic_id, asked, next(self._turns), self.news, is_follower=self.is_follower
                )
                self._partitions[key] = watched
            watched.asked = asked
            self.news.keep(watched)

    def _drop(self, partitions: Iterable[TopicPartition]) -> None:
        for key in partitions:
            watched = self._partitions.pop(key, None)
            if watched is not None:
                watched.watch(None)
                self.news.forget(watched)
