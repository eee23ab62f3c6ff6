"""What would keep a broker from starting, found without a change of anything."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from logstore.errors import LogStoreError
from logstore.files.directory_lock import DirectoryLock
from logstore.files.meta_properties import META_PROPERTIES_NAME, MetaProperties
from replication.standalone.errors import NoMetadataError, OtherNodeError
from replication.standalone.formatting import ensure_owned, metadata_root


def directory_faults(roots: Sequence[Path], node_id: int | None = None) -> Iterator[str]:
    """Find all that is wrong with log.dirs roots: whose they are, what is in them, and who has them open.

    They must be of the broker with this id, if one is given.
    """
    known: dict[Path, MetaProperties] = {}
    times = Counter(root.resolve() for root in roots)
    yield from (f"{root} is named {count} times" for root, count in times.items() if count > 1)
    for root in roots:
        try:
            properties = _properties(root)
            if properties is not None:
                ensure_owned(root, properties, node_id)
        except (LogStoreError, OtherNodeError, OSError) as error:
            yield str(error)
            continue
        if properties is not None:
            known[root] = properties
        elif root.exists() and any(root.iterdir()):
            yield f"{root} is not empty and has no {META_PROPERTIES_NAME}: it is no broker's log.dirs root"
    yield from _contradictions(known)
    try:
        metadata_root(roots)
    except NoMetadataError as error:
        yield str(error)


def _properties(root: Path) -> MetaProperties | None:
    """Return whose a root is; None where it is nobody's yet. Raises LogStoreError where it cannot be opened."""
    path = root / META_PROPERTIES_NAME
    if not path.exists():
        return None
    DirectoryLock.ensure_free(root)
    return MetaProperties.read(path)


def _contradictions(known: dict[Path, MetaProperties]) -> Iterator[str]:
    seen: dict[str, Path] = {}
    first = next(iter(known), None)
    for root, each in known.items():
        if each.version != 1 or each.directory_id is None:
            yield f"{root} was formatted for a cluster with ZooKeeper, or before Kafka 3.7: it has no directory.id"
            continue
        other = seen.setdefault(each.directory_id, root)
        if other != root:
            yield f"{other} and {root} have the same directory.id: one is a copy of the other"
        if first is not None and (each.cluster_id, each.node_id) != (known[first].cluster_id, known[first].node_id):
            yield f"{first} and {root} are of two brokers, or of two clusters"
