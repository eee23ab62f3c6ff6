"""What became of a damaged or missing range of a log."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class HealedRange:
    """Bytes that are no sound batch of the log, and what takes their place."""

    file: str
    """The segment's log where the damage begins."""
    position: int
    """In bytes from the start of that file."""
    damaged_bytes: int
    """That are left out, 0 where batches are missing and nothing stands in their place."""
    first_offset: int
    end_offset: int
    """Exclusive; the same as the first where nothing is missing that should be there."""
    batches: int
    bytes: int
    """Of batches that are put in."""
    sources: tuple[str, ...]
    """The copies that they come from."""

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LeftRange:
    """What is left as it is, since nothing proves what belongs there."""

    file: str
    position: int
    first_offset: int
    end_offset: int | None
    """Exclusive; None where it is not known where the damage ends."""
    why: str
    is_readable: bool = False
    """Whether there are sound batches all the same, of which only another copy says otherwise."""
    may_be_remote: bool = False
    """Whether it may be in remote storage, where nothing is wrong with it."""

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return asdict(self)
