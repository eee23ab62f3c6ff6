"""Directories that have not been any broker's yet (Kafka: kafka-storage format)."""

from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from epoch.filesystem import REAL
from logstore.files.meta_properties import META_PROPERTIES_NAME, MetaProperties
from logstore.files.partition_metadata import format_uuid
from replication.standalone.errors import NotFormattedError


def ensure_formatted(roots: Sequence[Path], node_id: int) -> list[Path]:
    """Make the roots that are new or empty directories of one broker; return these.

    They join the cluster of those that are formatted already, or a new one. Raises NotFormattedError for a root that
    holds something and no meta.properties, CorruptMetadataError, and OSError.
    """
    new = [root for root in roots if not (root / META_PROPERTIES_NAME).exists()]
    for root in new:
        if root.exists() and any(root.iterdir()):
            raise NotFormattedError(root)
    known = [MetaProperties.read(root / META_PROPERTIES_NAME) for root in roots if root not in new]
    cluster_id = known[0].cluster_id if known else format_uuid(uuid4())
    owner = known[0].node_id if known else node_id
    for root in new:
        REAL.make_directories(root)
        properties = MetaProperties(1, cluster_id, owner, format_uuid(uuid4()))
        properties.write(root / META_PROPERTIES_NAME)
    return new
