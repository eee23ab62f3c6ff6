"""What a broker has yet to take of the changes of its cluster's metadata."""

from collections import deque
from typing import Final, NamedTuple

from replication.metadata.image import ClusterImage
from replication.metadata.image_changes import ImageChanges
from replication.metadata.image_publisher import PublishedImage


class MetadataNews(NamedTuple):
    """An image, and what is other than in the one before."""

    image: ClusterImage
    changes: ImageChanges
    applied_offset: int


class MetadataFeed:
    """Filled by the controller, and emptied by one broker at its own pace."""

    def __init__(self, published: PublishedImage) -> None:
        """Begin with all that is known."""
        everything = ImageChanges.between(ClusterImage(), published.image)
        self._news: Final = deque([MetadataNews(published.image, everything, published.applied_offset)])

    def put(self, published: PublishedImage) -> None:
        """Add what has been published."""
        self._news.append(MetadataNews(published.image, published.changes, published.applied_offset))

    def take(self) -> MetadataNews | None:
        """Return all that has come as one; None where nothing has."""
        taken = [self._news.popleft() for _ in range(len(self._news))]
        if not taken:
            return None
        return MetadataNews(
            taken[-1].image, ImageChanges.union(each.changes for each in taken), taken[-1].applied_offset
        )
