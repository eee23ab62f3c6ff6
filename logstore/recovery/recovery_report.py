"""A report of what recovery found and did: for people, and for `epochlog recover --json`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from logstore.text.brief_text import differing

if TYPE_CHECKING:
    from epoch.entry import EpochEntry
    from logstore.files.only_copy.offset_gaps import Hole
    from logstore.recovery.dropped_tail import DroppedTail


@dataclass(slots=True)
class RecoveryReport:
    """What recovery did to one log. A log that was closed cleanly and lacks nothing has an empty one."""

    removed_files: list[str] = field(default_factory=list)
    """Left-overs of deletion and compaction, orphaned indexes, and snapshots of producers beyond the log."""
    renamed_files: list[str] = field(default_factory=list)
    """Completed compaction, put in place of what it replaces: the `.swap` files."""
    rebuilt_indexes: list[str] = field(default_factory=list)
    """Segments whose missing or bad indexes were built anew, by the name of their `.log` file."""
    split_segments: list[str] = field(default_factory=list)
    """Segments whose offsets were too far apart for their indexes, by the name of their `.log` file."""
    recovered_segments: int = 0
    """Segments that were checked batch by batch."""
    recovered_batches: int = 0
    recovered_bytes: int = 0
    dropped: list[DroppedTail] = field(default_factory=list)
    log_end_offset: int = 0
    """Where the log ends now."""
    high_watermark_before: int | None = None
    """What the checkpoint files said; None where they did not mention the log."""
    epochs_before: list[EpochEntry] = field(default_factory=list)
    """The leader-epoch checkpoint as it was found."""
    epochs_after: list[EpochEntry] = field(default_factory=list)
    damaged_epoch_checkpoint: str = ""
    """Why the leader-epoch checkpoint was rebuilt from the batches, as it could not be read, or they contradict it;
    empty otherwise."""
    damaged_offset_gaps: str = ""
    """Why it is not known any more which holes the log had, as that file cannot be read; empty otherwise."""
    ignored_checkpoints: list[str] = field(default_factory=list)
    """Checkpoint files beside the segments that speak of another log, as of a directory that was renamed or copied."""
    holes: list[Hole] = field(default_factory=list)
    """What readers of the log get errors for: see `Log.holes`."""
    is_only_copy: bool = False
    """Whether no other node has a copy of the log."""
    seconds: float = 0.0

    def __repr__(self) -> str:
        return differing(self)

    @property
    def dropped_bytes(self) -> int:
        """Bytes of all that was dropped."""
        return sum(tail.bytes for tail in self.dropped)

    @property
    def committed_offsets_lost(self) -> int:
        """How many offsets lie between the log's end and the high watermark before: records there were committed."""
        return max(0, (self.high_watermark_before or 0) - self.log_end_offset)

    @property
    def changed(self) -> bool:
        """Whether opening the log changed anything in its directory that matters."""
        moved = self.removed_files or self.renamed_files or self.rebuilt_indexes
        return bool(moved or self.dropped or self.epochs_before != self.epochs_after)

    def as_json(self) -> dict[str, Any]:
        """Return a document of plain values."""
        return {
            **asdict(self),
            "epochs_before": [entry._asdict() for entry in self.epochs_before],
            "holes": [hole._asdict() for hole in self.holes],
            "epochs_after": [entry._asdict() for entry in self.epochs_after],
            "damaged_epoch_checkpoint": self.damaged_epoch_checkpoint or None,
            "damaged_offset_gaps": self.damaged_offset_gaps or None,
            "dropped_bytes": self.dropped_bytes,
        }
