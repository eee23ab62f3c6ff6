"""What keeps log.dirs roots from being those of one broker, found without a change of anything."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from logstore.errors import LogStoreError
from logstore.files.meta_properties import MetaProperties
from replication.base.errors import ReplicationError
from replication.cluster.broker.broker_identity import contradictions


def named_twice(roots: Sequence[Path]) -> Iterator[str]:
    """Find the roots that are named more than once, under whatever paths."""
    times = Counter(root.resolve() for root in roots)
    yield from (f"{root} is named {count} times in log.dirs" for root, count in times.items() if count > 1)


def root_faults(
    roots: Sequence[Path], read: Callable[[Path], MetaProperties | None], known: dict[Path, MetaProperties]
) -> Iterator[str]:
    """Find what is wrong with each root by itself, and between them; whose they are is put into `known`.

    `read` returns whose one is, None where it is nobody's or not to be looked at, and raises what is wrong with it.
    """
    for root in dict.fromkeys(roots):
        try:
            owner = read(root)
        except (LogStoreError, ReplicationError, OSError) as error:
            yield str(error)
        else:
            if owner is not None:
                known[root] = owner
    yield from contradictions(known)
