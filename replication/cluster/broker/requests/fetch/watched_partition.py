"""A partition of a fetch session, as the broker remembers it between two fetches."""

from collections.abc import Callable
from functools import partial
from typing import Final
from uuid import UUID

from logstore import TopicPartition
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.requests.fetch.fetch_news import FetchNews
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchedPartition, FetchPartition

_NOT_TOLD: Final = -1


class _KeptNews:
    """Notes news that no fetch is woken for."""

    __slots__ = ("__weakref__", "_keep")

    def __init__(self, keep: Callable[[], None]) -> None:
        self._keep = keep

    def wake(self) -> None:
        self._keep()


class WatchedPartition:
    """What the client asks of it and was answered last; notifies its session (Kafka: CachedPartition)."""

    __slots__ = ("__weakref__", "_news", "_told", "_watermark", "asked", "hosted", "key", "topic_id", "turn")

    def __init__(
        self,
        key: TopicPartition,
        topic_id: UUID | None,
        asked: FetchPartition,
        turn: int,
        news: "FetchNews[WatchedPartition]",
        *,
        is_follower: bool,
    ) -> None:
        """Create it from a request; a follower reads up to the end, and waits for no high watermark."""
        self.key: TopicPartition = key
        """As requests name it: by its topic's id where these do."""
        self.topic_id: UUID | None = topic_id
        self.asked: FetchPartition = asked
        self.turn: int = turn
        """Of two partitions the one with the lower turn is read first."""
        self._news = news
        self.hosted: HostedPartition | None = None
        """The copy that it hears from."""
        self._told = (_NOT_TOLD, _NOT_TOLD)
        self._watermark = _KeptNews(partial(news.keep, self)) if is_follower else None

    def wake(self) -> None:
        """Note that there may be news."""
        self._news.note(self)

    def watch(self, hosted: HostedPartition | None) -> None:
        """Hear from now on what happens to this copy, and not to the one before."""
        if hosted is self.hosted:
            return
        if self.hosted is not None:
            self.hosted.leave(self)
            if self._watermark is not None:
                self.hosted.leave(self._watermark)
        self.hosted = hosted
        if hosted is not None:
            hosted.attend(self, watermark=self._watermark is None)
            if self._watermark is not None:
                hosted.attend(self._watermark, end=False)

    def is_news(self, answer: FetchedPartition) -> bool:
        """Whether an answer has anything new for the client."""
        return (
            answer.error is not ErrorCode.NONE
            or len(answer.records) > 0
            or answer.diverging_epoch is not None
            or self._told != (answer.high_watermark, answer.log_start_offset)
        )

    def tell(self, answer: FetchedPartition) -> None:
        """Remember what the client was answered; after an error it gets all again."""
        is_error = answer.error is not ErrorCode.NONE
        self._told = (_NOT_TOLD if is_error else answer.high_watermark, answer.log_start_offset)
