"""What was done to a partition, and what is still wrong with the copy that was written."""

from dataclasses import dataclass
from typing import Any

from logstore.verify import Finding
from replication.copies.repair.range_report import HealedRange, LeftRange


@dataclass(frozen=True, slots=True)
class RepairReport:
    """Of one partition. A dry run's report has no findings: those are of the copy."""

    topic: str
    partition: int
    healed: tuple[HealedRange, ...]
    left: tuple[LeftRange, ...]
    made_anew: tuple[str, ...]
    """Files beside the log, by their names."""
    findings: tuple[Finding, ...]
    """What `verify` still finds in the copy that needs attention."""
    committed_left: bool
    """Whether what is left reaches below the high watermark: records that were acknowledged cannot be read."""

    @property
    def is_sound(self) -> bool:
        """Whether nothing was wrong."""
        return not (self.healed or self.left or self.made_anew or self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints of a partition."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "healed": [each.as_json() for each in self.healed],
            "left": [each.as_json() for each in self.left],
            "made_anew": list(self.made_anew),
            "findings": [each.as_json() for each in self.findings],
            "committed_left": self.committed_left,
        }
