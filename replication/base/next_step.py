"""What an operator is advised to do next, with commands to copy. Nothing runs them here."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do, and the commands or lines for it."""

    what: str
    commands: tuple[str, ...] = ()
    stopped: str | None = None
    """What must stay stopped, and until when."""
    loses: str | None = None
    """What is lost by it; None where nothing is that was not lost before."""
    check: str | None = None
    """What is so once it is done."""
    check_commands: tuple[str, ...] = ()
    """How to see that."""
    is_preliminary: bool = False
    """Whether a step before may change it: it is to be followed only if nothing of that can be done."""

    def told(self) -> Iterator[tuple[str, str]]:
        """Give what is to be said of it besides, each with a title."""
        for title, text in (("Keep stopped", self.stopped), ("Loses", self.loses), ("Check", self.check)):
            if text:
                yield title, text

    def as_json(self) -> dict[str, Any]:
        """Return it as `--json` prints it."""
        return {
            "what": self.what,
            "commands": list(self.commands),
            "stopped": self.stopped,
            "loses": self.loses,
            "check": self.check,
            "check_commands": list(self.check_commands),
            "is_preliminary": self.is_preliminary,
        }
