"""Why nothing is salvaged."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from logstore.errors import LogStoreError
from replication.base.errors import ReplicationError


class SalvageError(ReplicationError):
    """The base class of what is wrong with a salvage."""


class UnknownBrokerError(SalvageError, LookupError):
    """The kept broker is not among the copies."""

    def __init__(self, kept: str, known: Mapping[str, int | None]) -> None:
        """`known` are the copies' names, and the node.id of each as far as it is known."""
        names = ", ".join(name if node_id is None else f"{name} (broker {node_id})" for name, node_id in known.items())
        super().__init__(f"no copy is that of {kept}; name the broker that is kept by one of these: {names}")


class KeptDamagedError(SalvageError, ValueError):
    """The kept copy of a partition is damaged: what it had would count as lost, and be written a second time."""

    @classmethod
    def of(cls, kept: str, damage: LogStoreError) -> Self:
        """Create it from the damage of the copy of `kept`."""
        return cls(
            f"nothing of it is salvaged, since the kept copy, that of {kept}, is damaged: repair it first (epochlog "
            f"repair), or name another. {damage}"
        )


class TargetError(SalvageError, ValueError):
    """Records cannot be written there, or not in that form; nothing was written."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
