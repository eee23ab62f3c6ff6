"""Why nothing is salvaged."""

from collections.abc import Mapping
from pathlib import Path

from replication.errors import ReplicationError


class SalvageError(ReplicationError):
    """The base class of what is wrong with a salvage."""


class UnknownBrokerError(SalvageError, LookupError):
    """The kept broker is not among the copies."""

    def __init__(self, kept: str, known: Mapping[str, int | None]) -> None:
        """`known` are the copies' names, and the node.id of each as far as it is known."""
        names = ", ".join(name if node_id is None else f"{name} (broker {node_id})" for name, node_id in known.items())
        super().__init__(f"no copy is that of {kept}; name the broker that is kept by one of these: {names}")


class TargetError(SalvageError, ValueError):
    """Records cannot be written there, or not in that form; nothing was written."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
