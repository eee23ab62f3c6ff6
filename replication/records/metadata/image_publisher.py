"""The image at the end of what was replayed, in a form that any thread may read while more is replayed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from replication.records.metadata.batches import MetadataBatch
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_changes import ChangeNotes, ImageChanges
from replication.records.metadata.loading import LoadedImage
from replication.records.metadata.records import NoOpRecord
from replication.records.metadata.transactions import Transactions


class BatchChanges(NamedTuple):
    """What one batch has changed; a transaction counts as one batch, and so does a snapshot."""

    base_offset: int
    last_offset: int
    changes: ImageChanges


@dataclass(frozen=True, slots=True)
class PublishedImage:
    """An image that nothing changes any more (Kafka: what a MetadataPublisher gets)."""

    image: ClusterImage
    applied_offset: int = -1
    """The highest offset that is in the image; -1 before the first."""
    epoch: int = -1
    """Of the batch at that offset; -1 before the first."""
    batches: tuple[BatchChanges, ...] = ()
    """What has changed since the image that was published before, batch by batch; those that change nothing of what
    `ImageChanges` names are left out."""

    @property
    def changes(self) -> ImageChanges:
        """All that has changed since the image that was published before."""
        return ImageChanges.union(batch.changes for batch in self.batches)


class ImagePublisher:
    """Replays batches in order, and publishes the image that they give (Kafka: MetadataLoader).

    One thread replays; `published` may be read by any, without a lock: each time it is another value.
    """

    def __init__(self) -> None:
        """Publish an empty image."""
        self._image = ClusterImage()
        self._transactions = Transactions()
        self._is_unchanged = True
        """Whether the image is still as it was published last."""
        self._applied_offset = -1
        self._epoch = -1
        self._batches: list[BatchChanges] = []
        self.published: PublishedImage = PublishedImage(self._image.frozen())

    def replay(self, batches: Iterable[MetadataBatch]) -> None:
        """Replay what follows. Raises InvalidReplayError, and what reading the batches raises.

        After an error it is of no more use, but for what it has published.
        """
        for batch in batches:
            counting = self._transactions.take(batch)
            if counting is not None:
                self._replay(counting)

    def replace(self, loaded: LoadedImage) -> None:
        """Go on from an image in place of what was replayed; nobody else changes it from now on."""
        self._note(0, loaded.end_offset - 1, ImageChanges.between(self._image, loaded.image))
        self._image, self._transactions, self._is_unchanged = loaded.image, Transactions(), False
        self._applied_offset, self._epoch = loaded.end_offset - 1, loaded.epoch

    def publish(self) -> PublishedImage:
        """Publish where the replay stands; return `published`, the same as before where nothing was replayed."""
        if self._applied_offset == self.published.applied_offset and self._is_unchanged:
            return self.published
        image = self.published.image if self._is_unchanged else self._image.frozen()
        self.published = PublishedImage(image, self._applied_offset, self._epoch, tuple(self._batches))
        self._is_unchanged = True
        self._batches.clear()
        return self.published

    def _replay(self, batch: MetadataBatch) -> None:
        notes = ChangeNotes()
        for record in batch.records:
            notes.note(record, self._image)
            self._image.replay(record)
            self._is_unchanged = self._is_unchanged and isinstance(record, NoOpRecord)
        self._applied_offset, self._epoch = batch.last_offset, batch.leader_epoch
        self._note(batch.base_offset, batch.last_offset, notes.changes())

    def _note(self, base_offset: int, last_offset: int, changes: ImageChanges) -> None:
        if changes:
            self._batches.append(BatchChanges(base_offset, last_offset, changes))
