"""What speaks for each range of a table: files, places and notes, put into words where they are asked for."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from replication.copies.explain.offset_ranges import Ranges
from replication.copies.explain.walked_log import NamedFile
from replication.copies.explain.why import WHYS, Why


class ExplainedRange(NamedTuple):
    """Offsets that follow each other, of which the same became."""

    first_offset: int
    last_offset: int
    why: Why
    leader_epoch: int
    """Under which they were written; -1 where that is not known."""
    copy: str | None
    """Whose file has the evidence; None where there is no file."""
    file: str | None
    position: int | None
    """In bytes: of the first batch, of the marker that aborts it, or, of what is gone, of the batch behind it."""
    evidence: str

    @property
    def offsets(self) -> int:
        """How many there are."""
        return self.last_offset - self.first_offset + 1


@dataclass(slots=True)
class Evidence:
    """The files that were read, and notes, both by the numbers that tables have."""

    files: list[NamedFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> int:
        """Return the number of a note."""
        if text not in self.notes:
            self.notes.append(text)
        return self.notes.index(text)

    def of(self, row: np.void) -> ExplainedRange:
        """Put a row into words."""
        why = WHYS[int(row["why"])]
        number, position = int(row["file"]), int(row["position"])
        file = self.files[number] if number >= 0 else None
        return ExplainedRange(
            int(row["first"]),
            int(row["last"]),
            why,
            int(row["epoch"]),
            file.copy if file else None,
            str(file.path) if file else None,
            position if file else None,
            self._text(row, why),
        )

    def all(self, rows: Ranges) -> list[ExplainedRange]:
        """Put all rows into words."""
        return [self.of(row) for row in rows]

    def _text(self, row: np.void, why: Why) -> str:
        by = int(row["decided_by"])
        noted = self.notes[int(row["note"])] if row["note"] >= 0 else ""
        match why:
            case Why.ABORTED:
                return f"its transaction is aborted by the marker at offset {by:,}"
            case Why.OPEN:
                return f"the transaction that begins at offset {by:,} is open"
            case Why.TRUNCATED:
                said = f"written under leader epoch {int(row['epoch'])}; the leader of epoch {by} did not have it"
            case Why.NEVER_WRITTEN:
                return "no copy has it, nor any offset behind it"
            case _:
                said = noted
        held = int(row["held_file"])
        if held < 0:
            return said
        position = int(row["held_position"])
        place = f"{self.files[held].copy} has it: {self.files[held].path.name}"
        return f"{said}; {place}" if position < 0 else f"{said}; {place} at byte {position:,}"


def range_as_json(each: ExplainedRange) -> dict[str, Any]:
    """Return a range as `epochlog explain --json` prints it."""
    return {**each._asdict(), "why": each.why.value}
