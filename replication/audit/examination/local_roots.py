"""The own files of remote roots, fetched once for all copies that one task examines."""

import weakref
from contextlib import ExitStack
from pathlib import Path

from replication.audit.snapshots.storage import Storage


class LocalRoots:
    """Local directories with what stands beside the partitions of remote roots; they go when this object does."""

    def __init__(self) -> None:
        self._paths: dict[str, Path] = {}
        self._copies = ExitStack()
        weakref.finalize(self, self._copies.close)

    def of(self, root: Storage) -> Path | None:
        """Return the one of a root, fetched at the first call; None for a local root. Raises OSError."""
        if root.is_local:
            return None
        if root.uri not in self._paths:
            self._paths[root.uri] = self._copies.enter_context(root.own_files())
        return self._paths[root.uri]

    def forget(self, uri: str) -> None:
        """Fetch the files of a root anew the next time: it has changed."""
        self._paths.pop(uri, None)
