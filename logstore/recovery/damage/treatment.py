"""What becomes of a damaged segment."""

from dataclasses import dataclass

from logstore.files.only_copy.offset_gaps import Hole
from logstore.recovery.segment_split import Part


@dataclass(frozen=True, slots=True)
class Treatment:
    """What becomes of a segment that is damaged somewhere."""

    end: int | None = None
    """The damaged bytes up to this position are taken out; None for all to the end of the file."""
    is_promised: bool = False
    """Whether they were acknowledged as being on stable storage."""
    sets_aside: bool = False
    """Whether they go into a file, with the segments behind where those go too."""
    keeps_later: bool = False
    """Whether the segments behind stay."""
    hole: Hole | None = None
    """What readers get errors for."""
    parts: tuple[Part, ...] = ()
    """What stays of the segment on both sides; empty where nothing stays behind the damage."""
