"""What a person is told to do next, with commands to copy. Nothing runs them here."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do, and the commands or lines for it."""

    what: str
    commands: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as `--json` prints it."""
        return {"what": self.what, "commands": list(self.commands)}
