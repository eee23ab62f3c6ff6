"""Whether a topic has remote storage (KIP-405), by the metadata that lies beside copies of its partitions."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from epoch.errors import EpochError
from logstore.errors import LogStoreError
from logstore.topic_partition import METADATA_TOPIC
from replication.base.errors import ReplicationError
from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.loading import LoadedImage, load_image

REMOTE_STORAGE: Final = "remote.storage.enable"
UNTOLD: Final = "in remote storage or lost: the files do not show which"
"""Of what lies below a first segment, where nobody says whether the topic has remote storage."""


def is_remote(image: ClusterImage, topic: str) -> bool:
    """Whether the metadata gives a topic remote storage."""
    return image.configurations.of(ConfigResourceType.TOPIC, topic).get(REMOTE_STORAGE, "").lower() == "true"


def has_remote_storage(topic: str, roots: Iterable[Path]) -> bool | None:
    """Return what the newest metadata in these roots says of a topic; None where none of it can be read, or has it."""
    newest = max(_images(roots), key=lambda each: (each.epoch, each.end_offset), default=None)
    if newest is None or all(each.name != topic for each in newest.image.topics):
        return None
    return is_remote(newest.image, topic)


def _images(roots: Iterable[Path]) -> Iterable[LoadedImage]:
    for directory in dict.fromkeys(root / f"{METADATA_TOPIC}-0" for root in roots):
        if not directory.is_dir():
            continue
        try:
            yield load_image(directory)
        except (LogStoreError, EpochError, ReplicationError, OSError):
            continue  # it says nothing, then
