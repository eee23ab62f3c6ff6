"""What a broker has yet to take of the changes of its cluster's metadata."""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Self

from replication.base.clock import monotonic_ms
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_changes import ImageChanges
from replication.records.metadata.image_publisher import PublishedImage


class MetadataNews(NamedTuple):
    """An image, and what is other than in the one before."""

    image: ClusterImage
    changes: ImageChanges
    applied_offset: int

    def then(self, later: Self) -> Self:
        """Return these news and later ones as one."""
        return later._replace(changes=ImageChanges.union((self.changes, later.changes)))


def _nothing(_: "MetadataFeed") -> None: ...


class MetadataFeed:
    """Filled by who follows the metadata or decides it, and emptied by one broker at its own pace."""

    def __init__(
        self,
        published: PublishedImage,
        drop: Callable[["MetadataFeed"], None] = _nothing,
        put_until: Callable[[], int] = monotonic_ms,
    ) -> None:
        """Begin with all that is known; `drop` is called once nobody takes any more.

        `put_until` returns as of when all that was committed has been put, by default as of now.
        """
        everything = ImageChanges.between(ClusterImage(), published.image)
        self._news: Final = deque([MetadataNews(published.image, everything, published.applied_offset)])
        self._drop: Final = drop
        self._put_until: Final = put_until
        self.as_of_ms: int = -1
        """As of when the last `take` has returned all that was committed, by the monotonic clock; -1 before that."""
        self.failure: BaseException | None = None
        """What ends it: nothing comes any more."""

    def put(self, published: PublishedImage) -> None:
        """Add what has been published."""
        self._news.append(MetadataNews(published.image, published.changes, published.applied_offset))

    def take(self) -> MetadataNews | None:
        """Return all that has come as one; None where nothing has. Raises `failure` once all has been taken."""
        self.as_of_ms = self._put_until()
        taken = [self._news.popleft() for _ in range(len(self._news))]
        if not taken:
            if self.failure is not None:
                raise self.failure
            return None
        return taken[-1]._replace(changes=ImageChanges.union(each.changes for each in taken))

    def close(self) -> None:
        """End the feed."""
        self._drop(self)
