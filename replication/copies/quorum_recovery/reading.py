"""Finding the copy of the metadata in what a caller names."""

from functools import partial
from pathlib import Path

from logstore.offline.offline_log_directory import open_offline
from logstore.offline.partition_directory import PartitionDirectory
from replication.base.errors import NoMetadataError
from replication.base.metadata_partition import METADATA_PARTITION
from replication.copies.planning.rereading import reread
from replication.copies.quorum_recovery.metadata_copy import MetadataCopy


def read_copy(path: Path, name: str | None = None) -> MetadataCopy:
    """Read the copy in a log.dirs root, in a metadata.log.dir, or in the partition's directory itself.

    It has the name of the directory that holds it unless one is given. Raises NotALogDirectoryError, NoMetadataError
    where the directory holds no metadata, and what `MetadataCopy.read` raises.

    >>> read_copy(Path("controller-1")).log.position
    """
    partition = _partition(path)
    return reread(partition, partial(MetadataCopy.read, name or partition.path.parent.name))


def _partition(path: Path) -> PartitionDirectory:
    opened = open_offline(path)
    if isinstance(opened, PartitionDirectory):
        if opened.topic_partition != METADATA_PARTITION:
            raise NoMetadataError(path)
        return opened
    if str(METADATA_PARTITION) not in opened.live_names():
        raise NoMetadataError(path)
    return opened.open_partition(str(METADATA_PARTITION))
