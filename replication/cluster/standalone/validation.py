"""What would keep a broker from starting, found without a change of anything."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from logstore.errors import LogStoreError
from logstore.files.directory_lock import DirectoryLock
from logstore.files.meta_properties import MetaProperties
from replication.base.errors import ReplicationError
from replication.cluster.broker.root_faults import named_twice, root_faults
from replication.cluster.standalone.formatting import ensure_none_new, is_new, metadata_root, owner_of
from replication.cluster.standalone.known_voters import ensure_sole_voter


def directory_faults(roots: Sequence[Path], node_id: int | None = None, *, create: bool = True) -> Iterator[str]:
    """Find all that is wrong with log.dirs roots: whose they are, what is in them, and who has them open.

    They must be of the broker with this id, if one is given. Where no broker is to be made, new ones are wrong.
    """

    def owner(root: Path) -> MetaProperties | None:
        if is_new(root):
            if not create:
                ensure_none_new([root])
            return None
        DirectoryLock.ensure_free(root)
        return owner_of(root, node_id)

    known: dict[Path, MetaProperties] = {}
    yield from named_twice(roots)
    yield from root_faults(roots, owner, known)
    try:
        metadata_in = metadata_root(roots)
        if metadata_in in known:
            ensure_sole_voter(metadata_in)
    except (ReplicationError, LogStoreError, OSError) as error:
        yield str(error)
