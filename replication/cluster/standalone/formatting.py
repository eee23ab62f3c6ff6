"""Directories that have not been any broker's yet (Kafka: kafka-storage format)."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from uuid import uuid4

from epoch.filesystem import REAL
from logstore.errors import InvalidDirectoryNameError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.directory_lock import LOCK_NAME, DirectoryLock
from logstore.files.meta_properties import MetaProperties
from logstore.files.partition_metadata import format_uuid
from logstore.topic_partition import parse_directory_name
from replication.base.metadata_partition import METADATA_PARTITION
from replication.cluster.standalone.errors import NewRootError, NoMetadataError, NotFormattedError, OtherNodeError

NODE_ID: Final = 1
"""Of a new broker for which none is given."""


def metadata_root(roots: Sequence[Path]) -> Path:
    """Return the one of a broker's log.dirs that holds the metadata; of new ones the first.

    Raises NoMetadataError where there are partitions and no metadata: whose they are would have to be made up.
    """
    for root in roots:
        if (root / str(METADATA_PARTITION)).is_dir():
            return root
    for root in roots:
        if root.is_dir() and any(_is_partition(path) for path in root.iterdir()):
            raise NoMetadataError(root)
    return roots[0]


def _is_partition(path: Path) -> bool:
    try:
        parse_directory_name(path.name)
    except InvalidDirectoryNameError:
        return False
    return path.is_dir()


def ensure_formatted(roots: Sequence[Path], node_id: int | None = None, cluster_id: str | None = None) -> list[Path]:
    """Make the roots that are new or empty directories of one broker; return these.

    They join the cluster of those that are formatted already, else that of `cluster_id`, else a new one. They are
    locked meanwhile: of two first starts at once one is refused. Raises NotFormattedError for a root that holds
    something and no meta.properties, OtherNodeError for one of another broker than is given, DirectoryLockedError,
    CorruptMetadataError, also where the cluster or the broker cannot be, and OSError.
    """
    MetaProperties(1, cluster_id, node_id, None).ensure_possible()
    new = [root for root in roots if is_new(root)]
    for root in roots:
        if root not in new:
            owner_of(root, node_id)  # before anything is made
    with ExitStack() as locks:
        for root in new:
            REAL.make_directories(root)
            locks.enter_context(DirectoryLock.acquire(root))
        return _formatted(roots, node_id, cluster_id)


def _formatted(roots: Sequence[Path], node_id: int | None, cluster_id: str | None) -> list[Path]:
    # Once more: another start may have been here before they were locked.
    new = [root for root in roots if is_new(root)]
    known = {root: owner_of(root, node_id) for root in roots if root not in new}
    first = next(iter(known.values()), None)
    cluster = (cluster_id or format_uuid(uuid4())) if first is None else first.cluster_id
    owner = (NODE_ID if node_id is None else node_id) if first is None else first.node_id
    for root in new:
        properties = MetaProperties(1, cluster, owner, format_uuid(uuid4()))
        properties.write(root / META_PROPERTIES_NAME)
    return new


def is_new(root: Path) -> bool:
    """Whether a root is nobody's yet: missing, or empty. Raises NotFormattedError where it holds something else.

    A lock is what a first start has left that came no further.
    """
    if (root / META_PROPERTIES_NAME).exists():
        return False
    if not _is_vacant(root):
        raise NotFormattedError(root)
    return True


def ensure_none_new(roots: Sequence[Path]) -> None:
    """Raise NewRootError for a root that is missing or empty, as one is whose path is mistyped or not mounted."""
    for root in roots:
        if _is_vacant(root):
            raise NewRootError(root, exists=root.exists())


def _is_vacant(root: Path) -> bool:
    return not root.exists() or all(path.name == LOCK_NAME for path in root.iterdir())


def owner_of(root: Path, node_id: int | None) -> MetaProperties:
    """Return whose a root is. Raises OtherNodeError where it is not the broker's with this id, if one is given."""
    properties = MetaProperties.read(root / META_PROPERTIES_NAME)
    if node_id is not None and properties.node_id != node_id:
        raise OtherNodeError(root, properties.node_id, node_id)
    return properties
