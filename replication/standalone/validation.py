"""What would keep a broker from starting, found without a change of anything."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from logstore.errors import LogStoreError
from logstore.files.directory_lock import DirectoryLock
from logstore.files.meta_properties import MetaProperties
from replication.broker.broker_identity import contradictions
from replication.errors import ReplicationError
from replication.standalone.errors import NotFormattedError, OtherNodeError
from replication.standalone.formatting import is_new, metadata_root, owner_of
from replication.standalone.known_voters import ensure_sole_voter

_DIRECTORY_ERRORS = (LogStoreError, NotFormattedError, OtherNodeError, OSError)


def directory_faults(roots: Sequence[Path], node_id: int | None = None) -> Iterator[str]:
    """Find all that is wrong with log.dirs roots: whose they are, what is in them, and who has them open.

    They must be of the broker with this id, if one is given.
    """
    known: dict[Path, MetaProperties] = {}
    times = Counter(root.resolve() for root in roots)
    yield from (f"{root} is named {count} times" for root, count in times.items() if count > 1)
    for root in roots:
        try:
            if not is_new(root):
                DirectoryLock.ensure_free(root)
                known[root] = owner_of(root, node_id)
        except _DIRECTORY_ERRORS as error:
            yield str(error)
    yield from contradictions(known)
    try:
        metadata_in = metadata_root(roots)
        if metadata_in in known:
            ensure_sole_voter(metadata_in)
    except (ReplicationError, LogStoreError, OSError) as error:
        yield str(error)
