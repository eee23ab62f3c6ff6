"""Hooks for whoever wants to know how the quorum's metadata is followed."""

from replication.metadata.image_publisher import PublishedImage


class MetadataObserver:
    """Override what is of interest. Called by the thread that follows, which waits: be quick, and raise nothing."""

    def controller_changed(self, address: str) -> None:
        """Hear that the controller at this address leads the quorum, for the first time or again."""

    def metadata_interrupted(self, error: Exception) -> None:
        """Hear that the metadata cannot be followed at the moment; that is tried again."""

    def metadata_published(self, published: PublishedImage) -> None:
        """Hear that more is committed: the image as it is now, and what each batch has changed since the one before."""
