"""What can keep the controller of the ZooKeeper era from doing what it should."""

from replication.base.errors import ReplicationError


class StateChangeError(ReplicationError, RuntimeError):
    """A partition or replica cannot come into the state that it should (Kafka: StateChangeFailedException)."""


class ControllerMovedError(ReplicationError, RuntimeError):
    """Another broker became the controller: whoever meets this must stop deciding (Kafka: ControllerMovedException)."""


class TakeOverError(ReplicationError, RuntimeError):
    """A controller was elected and could not begin: it would be elected in vain again."""

    def __init__(self, broker_id: int, error: Exception) -> None:
        super().__init__(f"{broker_id} was elected as controller, could not begin, and resigned: {error}")


class CoordinationError(ReplicationError, OSError):
    """The coordination store did not do what it was asked."""


class NoNodeError(CoordinationError, LookupError):
    """There is no such node."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path}: no such node in the coordination store")


class NodeExistsError(CoordinationError):
    """A node that was to be created is there already."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path}: this node exists already in the coordination store")


class BadVersionError(CoordinationError):
    """Another client changed a node meanwhile: read it again."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path}: the node has changed since it was read; read it again")


class NotEmptyError(CoordinationError):
    """A node that was to be deleted has children."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path}: this node has children; delete those first")


class SessionLostError(CoordinationError, ConnectionError):
    """The session with the coordination store is over, and its ephemeral nodes are gone."""

    def __init__(self, where: str) -> None:
        super().__init__(f"{where}: the session with the coordination store has expired; open another")


class StoreUnreachableError(CoordinationError, ConnectionError):
    """No session with the coordination store could be begun."""

    def __init__(self, connect: str, seconds: float) -> None:
        super().__init__(f"{connect}: no ZooKeeper answers within {seconds:g} s; check the addresses and the network")


class MalformedNodeError(CoordinationError, ValueError):
    """A node holds something that is not what Kafka writes there."""

    def __init__(self, path: str, fault: str) -> None:
        self.path = path
        super().__init__(f"{path}: {fault}; correct or delete this node in the coordination store")
