"""What a broker that is a process of its own is told as it starts."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from replication.testing.links import LinkState
from replication.testing.node_settings import NodeSettings
from replication.wire.addresses import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """Where it lives, whom it asks, and how long it waits."""

    broker_id: int
    root: Path
    """Its log.dirs."""
    journal: Path
    """Of what it has flushed."""
    address: Address
    """Where it listens."""
    controller: Address
    parent: int
    """The process with which it ends."""
    node: NodeSettings
    links: LinkState

    def as_json(self) -> dict[str, Any]:
        """Return them for the process."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        paths = {"root": str(self.root), "journal": str(self.journal)}
        return {**told, **paths, "links": self.links.as_json(), "node": self.node.as_json()}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Self:
        """Decode them in the process."""
        paths = {name: Path(told[name]) for name in ("root", "journal")}
        addresses = {name: Address(*told[name]) for name in ("address", "controller")}
        parts = {"links": LinkState.from_json(told["links"]), "node": NodeSettings(**told["node"])}
        return cls(**{**told, **paths, **addresses, **parts})
