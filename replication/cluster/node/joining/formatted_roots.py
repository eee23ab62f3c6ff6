"""The log.dirs of a broker before they are open: whose they are, which cannot be read, and what is wrong with them."""

import errno
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

from logstore.errors import DirectoryLockedError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.directory_lock import LOCK_NAME, DirectoryLock
from logstore.files.meta_properties import MetaProperties
from logstore.files.partition_metadata import parse_uuid
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.errors import InconsistentDirectoriesError
from replication.cluster.broker.root_faults import named_twice, root_faults


class FormattedRoots:
    """What their meta.properties say; nothing is changed (Kafka: MetaPropertiesEnsemble).

    A root whose disk fails is offline, where another one is left; but for that of the metadata. One that is missing may
    be on a disk that is not mounted: with it replicas that count as in sync would come back empty.
    """

    def __init__(self, roots: Sequence[Path], node_id: int | None, metadata_root: Path) -> None:
        """Look at them, and at `metadata_root`, which may be one of them. They must be of the broker with this id."""
        self._metadata_root: Final = metadata_root
        self._known: Final[dict[Path, MetaProperties]] = {}
        self.offline: Final[dict[Path, OSError]] = {}
        """Those that cannot be read, and why."""
        self.faults: Final[tuple[str, ...]] = tuple(self._faults(roots, node_id))
        """What keeps them from being those of one broker that is formatted."""

    @property
    def identity(self) -> BrokerIdentity:
        """As whom to ask before they are open. Raises InconsistentDirectoriesError for the first of the faults."""
        for fault in self.faults:
            raise InconsistentDirectoriesError(fault)
        known = next(iter(self._known.values()))
        assert known.cluster_id is not None  # noqa: S101 - or it is a fault
        assert known.node_id is not None  # noqa: S101
        ids = tuple(parse_uuid(each.directory_id) for each in self._known.values() if each.directory_id is not None)
        return BrokerIdentity(cluster_id=known.cluster_id, broker_id=known.node_id, directory_ids=ids)

    def ids(self, roots: Collection[Path]) -> tuple[UUID, ...]:
        """Return the directory.id of each of these that is known."""
        ids = (self._known[root].directory_id for root in roots if root in self._known)
        return tuple(parse_uuid(each) for each in ids if each is not None)

    def _faults(self, roots: Sequence[Path], node_id: int | None) -> Iterator[str]:
        yield from named_twice(roots)
        yield from root_faults((*roots, self._metadata_root), self._read, self._known)
        if self.offline and not self._known.keys() & set(roots):
            yield from map(str, self.offline.values())
        for root, each in self._known.items():
            if node_id is not None and each.node_id != node_id:
                yield f"{root} is node {each.node_id}'s by its {META_PROPERTIES_NAME}, and node.id is {node_id}"
                return

    def _read(self, root: Path) -> MetaProperties | None:
        try:
            owner = MetaProperties.read(root / META_PROPERTIES_NAME)
            DirectoryLock.ensure_free(root)
            _ensure_writable(root)
        except FileNotFoundError as error:
            raise InconsistentDirectoriesError(f"{root}: {_why_not_formatted(root)}") from error
        except DirectoryLockedError:
            raise
        except OSError as error:
            if root == self._metadata_root:
                raise InconsistentDirectoriesError(
                    f"{root} is to hold the metadata, and cannot be used: {error.strerror}; check that it is a "
                    "directory, that this user may read and write there, and that its disk works"
                ) from error
            self.offline[root] = error
            return None
        return owner


def _ensure_writable(root: Path) -> None:
    """Raise OSError where nothing could be written, as by another user or on a disk that is mounted read-only."""
    if not os.access(root, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "this user may not write there", str(root))


def _why_not_formatted(root: Path) -> str:
    """Return what is to be done with a root that says nothing of itself: a disk that is not mounted looks so too."""
    if root.is_dir() and any(path.name != LOCK_NAME for path in root.iterdir()):
        return f"it holds files and no {META_PROPERTIES_NAME}, so it is no broker's; name another directory"
    what = f"it has no {META_PROPERTIES_NAME}, as it is {'empty' if root.is_dir() else 'not there'}"
    return f"{what}; if its disk is not mounted, mount it; only if it is to be new, format it: epochlog format"
