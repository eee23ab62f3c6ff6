"""What the controller needs of a coordination store: a tree of versioned nodes, sessions, watches (ZooKeeper)."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

ANY_VERSION: Final = -1
Watch: TypeAlias = Callable[[str], None]
"""Called once, with the node's path, when what was read changed; it must only take note of that."""


class Node(NamedTuple):
    """What a node holds."""

    data: bytes
    version: int
    """How often the data was changed since the node was created (ZooKeeper: version)."""
    created: int
    """The transaction that created it, which rises over the whole tree (ZooKeeper: czxid)."""


class Create(NamedTuple):
    """Create a node; its parent must exist."""

    path: str
    data: bytes = b""
    ephemeral: bool = False


class SetData(NamedTuple):
    """Change a node that has this version."""

    path: str
    data: bytes
    version: int = ANY_VERSION


class Delete(NamedTuple):
    """Delete a node that has this version, and no children."""

    path: str
    version: int = ANY_VERSION


class Check(NamedTuple):
    """See that a node has this version."""

    path: str
    version: int


Operation: TypeAlias = Create | SetData | Delete | Check


class CoordinationStore(Protocol):
    """One session with the store. All raise SessionLostError once it is over, and other CoordinationErrors."""

    def create(self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequence: bool = False) -> str:
        """Create a node and the parents that are missing; return its path.

        An `ephemeral` one lives as long as this session; to a `sequence` one's name a rising number is added. Raises
        NodeExistsError.
        """
        ...

    def exists(self, path: str, watch: Watch | None = None) -> bool:
        """Whether there is such a node; watch its creation, change or deletion."""
        ...

    def get(self, path: str, watch: Watch | None = None) -> Node:
        """Return what a node holds; watch its change or deletion. Raises NoNodeError."""
        ...

    def children(self, path: str, watch: Watch | None = None) -> list[str]:
        """Return the names under a node, sorted; watch them come and go. Raises NoNodeError."""
        ...

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> int:
        """Change what a node holds and return its new version. Raises NoNodeError, BadVersionError."""
        ...

    def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Delete a node. Raises NoNodeError, BadVersionError, NotEmptyError."""
        ...

    def multi(self, operations: Sequence[Operation]) -> None:
        """Do all or nothing; raises what the first that fails would, with its path."""
        ...

    def watch_session(self, watch: Callable[[bool], None]) -> None:
        """Call whenever the session is over (False), and when the store begins a new one by itself (True)."""
        ...

    def close(self) -> None:
        """End the session: its ephemeral nodes are gone."""
        ...
