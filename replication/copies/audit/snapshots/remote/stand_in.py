"""A file that is made where another one need not be fetched."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class StandIn:
    """A file with the size of another, and some of its bytes; the rest is zero, and takes no room on the disk."""

    size: int
    pieces: tuple[tuple[int, bytes], ...]
    """Positions, and what stands there."""

    def make(self, path: Path) -> None:
        """Write it. Raises OSError."""
        with open(path, "wb") as file:
            file.truncate(self.size)
            for position, data in self.pieces:
                file.seek(position)
                file.write(data)


NO_STAND_INS: Final[Mapping[str, StandIn]] = {}
