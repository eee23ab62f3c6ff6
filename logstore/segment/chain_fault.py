"""What a header chain finds: other batches than were brought to stable storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from logstore.errors import DamagedLogError

if TYPE_CHECKING:
    from pathlib import Path


class ChainFault(NamedTuple):
    """Batches whose heads are not those that were brought to stable storage."""

    file: str
    """The segment's `.log`."""
    position: int
    """They lie from here on."""
    end_position: int
    offset: int
    """The first that they may concern."""
    last_offset: int
    """Where the last batch began there."""

    def __str__(self) -> str:
        return (
            f"{self.file} has other batches between {self.position:,} and {self.end_position:,} than were brought to "
            f"stable storage there, from offset {self.offset:,} to {self.last_offset:,}, though each may be sound"
        )

    def error(self, directory: Path) -> DamagedLogError:
        """Return what it is for who opens a log that no other node has a copy of."""
        error = DamagedLogError(
            f"the batches up to {self.end_position:,} are not those that were brought to stable storage there, by the "
            f"header chain, though each may be sound: of another log, of before, or changed where no checksum covers "
            f"them, from offset {self.offset:,} to {self.last_offset:,}",
            file=directory / self.file,
            position=self.position,
            offset=self.offset,
            advice="nothing was changed: put a copy of the directory in its place; or open it with "
            'damage="hole" or damage="cut", which take the batches as they are',
        )
        error.end_offset = self.last_offset + 1
        return error
