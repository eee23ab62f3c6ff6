"""Hooks into the following of the quorum's metadata."""

from replication.records.metadata.image_publisher import PublishedImage


class MetadataObserver:
    """Override the methods of interest. The following thread calls them and waits: return quickly, raise nothing."""

    def controller_changed(self, address: str) -> None:
        """Observe that the controller at this address was found to lead the quorum."""

    def metadata_interrupted(self, error: Exception) -> None:
        """Observe a failure to follow the metadata; it is retried."""

    def metadata_published(self, published: PublishedImage) -> None:
        """Observe newly committed metadata: the new image, and what each batch changed."""
