"""A coordination store inside this process, for tests, simulations and clusters of one process.

tree = EmbeddedTree()
store = tree.session()          # one for each broker
store.create("/brokers/ids/1", b"{}", ephemeral=True)
store.close()                   # and the node is gone
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Final

from replication.cluster.controller.classic.errors import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionLostError,
)
from replication.cluster.controller.classic.store.coordination_store import (
    ANY_VERSION,
    Check,
    Create,
    Delete,
    Node,
    Operation,
    SetData,
    Watch,
)

_SEQUENCE_DIGITS: Final = 10


@dataclass(slots=True)
class _TreeNode:
    data: bytes
    created: int
    owner: "EmbeddedStore | None"
    version: int = 0
    children: set[str] = field(default_factory=set)
    next_sequence: int = 0


class EmbeddedTree:
    """The nodes, which all sessions share; safe to use from several threads."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.transaction = 0
        self._nodes: dict[str, _TreeNode] = {"/": _TreeNode(b"", 0, None)}
        self._data_watches: dict[str, list[Watch]] = defaultdict(list)
        self._child_watches: dict[str, list[Watch]] = defaultdict(list)

    def session(self) -> "EmbeddedStore":
        """Begin a session."""
        return EmbeddedStore(self)

    def node(self, path: str) -> _TreeNode:
        """Return a node; NoNodeError where there is none."""
        found = self._nodes.get(path)
        if found is None:
            raise NoNodeError(path)
        return found

    def __contains__(self, path: object) -> bool:
        return path in self._nodes

    def watch_data(self, path: str, watch: Watch | None) -> None:
        """Call once when the node is created, changed or deleted."""
        if watch is not None:
            self._data_watches[path].append(watch)

    def watch_children(self, path: str, watch: Watch | None) -> None:
        """Call once when a child of this node is created or deleted."""
        if watch is not None:
            self._child_watches[path].append(watch)

    def check(self, path: str, version: int) -> _TreeNode:
        """Return a node of this version; NoNodeError, BadVersionError."""
        found = self.node(path)
        if version not in {ANY_VERSION, found.version}:
            raise BadVersionError(path)
        return found

    def check_create(self, path: str) -> None:
        """See that a node can be created; NodeExistsError, NoNodeError of its parent."""
        if path in self._nodes:
            raise NodeExistsError(path)
        self.node(_parent(path))

    def check_delete(self, path: str, version: int) -> None:
        """See that a node can be deleted; NoNodeError, BadVersionError, NotEmptyError."""
        if self.check(path, version).children:
            raise NotEmptyError(path)

    def create(self, path: str, data: bytes, owner: "EmbeddedStore | None") -> None:
        """Create a node under one that exists."""
        self.check_create(path)
        self.transaction += 1
        self._nodes[path] = _TreeNode(data, self.transaction, owner)
        parent = _parent(path)
        self._nodes[parent].children.add(path.rpartition("/")[2])
        self._tell(path, parent)

    def create_parents(self, path: str) -> None:
        """Create what is missing above a node."""
        parent = _parent(path)
        if parent not in self._nodes:
            self.create_parents(parent)
            self.create(parent, b"", None)

    def set(self, path: str, data: bytes, version: int) -> int:
        """Change a node of this version; return the next."""
        node = self.check(path, version)
        self.transaction += 1
        node.data = data
        node.version += 1
        self._tell(path, None)
        return node.version

    def delete(self, path: str, version: int) -> None:
        """Delete a node of this version."""
        self.check_delete(path, version)
        self.transaction += 1
        del self._nodes[path]
        parent = _parent(path)
        self._nodes[parent].children.remove(path.rpartition("/")[2])
        self._tell(path, parent)

    def end(self, owner: "EmbeddedStore") -> None:
        """Delete what a session owns."""
        for path in [path for path, node in self._nodes.items() if node.owner is owner]:
            self.delete(path, ANY_VERSION)

    def _tell(self, path: str, parent: str | None) -> None:
        for watch in self._data_watches.pop(path, ()):
            watch(path)
        if parent is not None:
            for watch in self._child_watches.pop(parent, ()):
                watch(parent)


class EmbeddedStore:
    """One session with an `EmbeddedTree` (a CoordinationStore)."""

    def __init__(self, tree: EmbeddedTree) -> None:
        self._tree = tree
        self._lost = False
        self._session_watches: list[Callable[[bool], None]] = []

    def create(self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequence: bool = False) -> str:
        """See CoordinationStore."""
        with self._tree.lock:
            self._check_session()
            self._tree.create_parents(path)
            if sequence:
                parent = self._tree.node(_parent(path))
                path = f"{path}{parent.next_sequence:0{_SEQUENCE_DIGITS}d}"
                parent.next_sequence += 1
            self._tree.create(path, data, self if ephemeral else None)
            return path

    def exists(self, path: str, watch: Watch | None = None) -> bool:
        """See CoordinationStore."""
        with self._tree.lock:
            self._check_session()
            self._tree.watch_data(path, watch)
            return path in self._tree

    def get(self, path: str, watch: Watch | None = None) -> Node:
        """See CoordinationStore."""
        with self._tree.lock:
            self._check_session()
            node = self._tree.node(path)
            self._tree.watch_data(path, watch)
            return Node(node.data, node.version, node.created)

    def children(self, path: str, watch: Watch | None = None) -> list[str]:
        """See CoordinationStore."""
        with self._tree.lock:
            self._check_session()
            names = sorted(self._tree.node(path).children)
            self._tree.watch_children(path, watch)
            return names

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> int:
        """See CoordinationStore."""
        with self._tree.lock:
            self._check_session()
            return self._tree.set(path, data, version)

    def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """See CoordinationStore."""
        with self._tree.lock:
            self._check_session()
            self._tree.delete(path, version)

    def multi(self, operations: Sequence[Operation]) -> None:
        """See CoordinationStore. Each operation is checked against the tree as it is before the first."""
        with self._tree.lock:
            self._check_session()
            for operation in operations:
                self._check(operation)
            for operation in operations:
                self._do(operation)

    def watch_session(self, watch: Callable[[bool], None]) -> None:
        """See CoordinationStore; another session is another object."""
        self._session_watches.append(watch)

    def close(self) -> None:
        """End the session, as its expiry would."""
        with self._tree.lock:
            if self._lost:
                return
            self._lost = True
            self._tree.end(self)
        for watch in self._session_watches:
            watch(False)

    def _check_session(self) -> None:
        if self._lost:
            raise SessionLostError("embedded store")

    def _check(self, operation: Operation) -> None:
        match operation:
            case Create(path):
                self._tree.check_create(path)
            case Delete(path, version):
                self._tree.check_delete(path, version)
            case SetData(path, _, version) | Check(path, version):
                self._tree.check(path, version)

    def _do(self, operation: Operation) -> None:
        match operation:
            case Create(path, data, ephemeral):
                self._tree.create(path, data, self if ephemeral else None)
            case SetData(path, data, _):
                self._tree.set(path, data, ANY_VERSION)
            case Delete(path, _):
                self._tree.delete(path, ANY_VERSION)
            case Check():
                pass


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"
