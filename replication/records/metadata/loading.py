"""The image that a directory of metadata holds: its latest snapshot, and the log from there on."""

import os
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from replication.records.metadata.batches import MetadataBatch
from replication.records.metadata.errors import DamagedMetadataError, InvalidReplayError
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.metadata_log import read_metadata
from replication.records.metadata.records import MetadataRecord
from replication.records.metadata.snapshot import MetadataSnapshot
from replication.records.metadata.transactions import committed

_LOST_BEGINNING_ADVICE: Final = (
    "what is lost cannot be rebuilt from the files here: put a snapshot that reaches this far beside the log; or, if "
    "the quorum has other controllers, move the directory away: the controller then fetches what is missing from the "
    "leader"
)


class Watch(Protocol):
    """Sees an image become another, one record after another."""

    def begin(self, image: ClusterImage) -> None:
        """Look at the image that a snapshot gives, an empty one without any."""

    def see(self, record: MetadataRecord, image: ClusterImage) -> None:
        """Look at the image that a record has just changed."""


class LoadedImage(NamedTuple):
    """An image, and where in the log it stands (Kafka: MetadataProvenance)."""

    image: ClusterImage
    end_offset: int
    """Everything below it is in the image."""
    epoch: int
    """Of the last batch; -1 of an empty log."""


def load_image(
    directory: str | os.PathLike[str], end_offset: int | None = None, *, watch: Watch | None = None
) -> LoadedImage:
    """Replay a directory such as `__cluster_metadata-0`; a transaction that has not ended is left out.

    So is what the cluster was formatted with, until it is in the log too. With `end_offset` no batch is read that
    begins there or later: what follows may be damaged. `watch` looks on from the snapshot on.

    Raises what `MetadataSnapshot.records` and `read_metadata` raise, and InvalidReplayError where the records do not
    follow from each other; each says where.
    """
    snapshot = MetadataSnapshot.latest(directory)
    loaded = LoadedImage(ClusterImage(), 0, -1)
    if snapshot is not None and not snapshot.is_bootstrap:
        loaded = load_snapshot(snapshot)
    if watch is not None:
        watch.begin(loaded.image)
    if end_offset is not None and loaded.end_offset >= end_offset:
        return loaded
    for batch in committed(_up_to(end_offset, read_metadata(directory, loaded.end_offset))):
        _ensure_follows(batch, loaded.end_offset, directory)
        try:
            for record in batch.records:
                loaded.image.replay(record)
                if watch is not None:
                    watch.see(record, loaded.image)
        except InvalidReplayError as error:
            raise error.with_position(file=directory, position=None, offset=batch.base_offset) from error
        loaded = LoadedImage(loaded.image, batch.last_offset + 1, batch.leader_epoch)
    return loaded


def load_snapshot(snapshot: MetadataSnapshot) -> LoadedImage:
    """Replay a snapshot. Raises what `MetadataSnapshot.records` raises, and InvalidReplayError."""
    loaded = LoadedImage(ClusterImage(), snapshot.end_offset, snapshot.epoch)
    try:
        loaded.image.replay_all(snapshot.records())
    except InvalidReplayError as error:
        raise InvalidReplayError(error.what, file=snapshot.path, advice=error.advice) from error
    return loaded


def _up_to(end_offset: int | None, batches: Iterator[MetadataBatch]) -> Iterator[MetadataBatch]:
    for batch in batches:
        yield batch
        if end_offset is not None and batch.last_offset + 1 >= end_offset:
            return


def _ensure_follows(batch: MetadataBatch, end_offset: int, directory: str | os.PathLike[str]) -> None:
    if batch.base_offset != end_offset:
        raise DamagedMetadataError(
            f"the log goes on at offset {batch.base_offset:,}, and no snapshot reaches further than {end_offset:,}",
            file=directory,
            offset=end_offset,
            advice=_LOST_BEGINNING_ADVICE,
        )
