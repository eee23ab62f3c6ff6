"""A finding of `verify`, or of a comparison of replicas, with the replica that it is about."""

from dataclasses import dataclass
from typing import Any

from logstore.verify import Finding


@dataclass(frozen=True, slots=True)
class ReplicaFinding:
    """What was found about the files of one replica."""

    replica: str
    finding: Finding

    def as_json(self) -> dict[str, Any]:
        """Return the finding as `epochlog audit --json` prints it: the fields of `verify`, and `replica`."""
        return {"replica": self.replica, **self.finding.as_json()}
