"""The log.dirs root that a mirror writes: it belongs to the cluster, under a node id that no broker has."""

from collections.abc import Callable
from pathlib import Path
from typing import Final
from uuid import uuid4

from epoch.filesystem import REAL, FileSystem
from logstore import DirectorySettings, LogConfig, LogDirectory, MetaProperties
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.partition_metadata import format_uuid
from logstore.topic_partition import is_partition_directory_name
from replication.cluster.mirror.errors import ForeignDirectoryError
from replication.cluster.mirror.index_files import IndexFiles

MIRROR_NODE_ID: Final = 2**31 - 1
"""The default node.id of a copy: the highest possible, which hardly any broker has."""

MIRROR_CONFIG: Final = LogConfig(retention_ms=-1, retention_bytes=-1)
"""Nothing is deleted by age or size here: the copy starts where the leader's log starts."""

MIRROR_DIRECTORY_SETTINGS: Final = DirectorySettings(
    # No log is flushed by age, so that there is hardly anything to look for.
    log_flush_scheduler_interval_ms=5_000,
    # What a mirror holds was committed: its own high watermarks, should they be old after a crash, cut nothing off.
    replica_high_watermark_checkpoint_interval_ms=30_000,
)
"""Checks many idle partitions less often than a broker does."""


def open_mirror_directory(
    root: Path,
    cluster_id: str,
    node_id: int = MIRROR_NODE_ID,
    *,
    config: LogConfig = MIRROR_CONFIG,
    settings: DirectorySettings = MIRROR_DIRECTORY_SETTINGS,
    filesystem: FileSystem = REAL,
    made: Callable[[LogDirectory], object] = lambda _: None,
) -> LogDirectory:
    """Open a root for copies of a cluster's partitions; it is created with its meta.properties if missing.

    `made` is called as by `LogDirectory.open`. Raises ForeignDirectoryError if it is not this
    cluster's or is another node's; DirectoryLockedError, CorruptMetadataError and OSError.
    """
    root = root.absolute()
    filesystem.make_directories(root)
    if not _is_ours(root, cluster_id, node_id):
        directory_id = format_uuid(uuid4())
        MetaProperties(1, cluster_id, node_id, directory_id).write(root / META_PROPERTIES_NAME, filesystem)
    return LogDirectory.open(
        root,
        config,
        replicated=True,
        settings=settings,
        filesystem=filesystem,
        observer=IndexFiles(filesystem),
        periodic=True,
        made=made,
    )


def _is_ours(root: Path, cluster_id: str, node_id: int) -> bool:
    """Whether the root was this mirror's before; False if it is empty."""
    path = root / META_PROPERTIES_NAME
    if not path.exists():
        if any(is_partition_directory_name(entry.name) for entry in root.iterdir()):
            raise ForeignDirectoryError(root, f"it holds partitions but no {META_PROPERTIES_NAME} that says whose")
        return False
    known = MetaProperties.read(path)
    if known.cluster_id != cluster_id:
        raise ForeignDirectoryError(root, f"it belongs to cluster {known.cluster_id}, but the brokers to {cluster_id}")
    if known.node_id != node_id:
        raise ForeignDirectoryError(root, f"it belongs to node {known.node_id}, but this mirror is node {node_id}")
    return True
