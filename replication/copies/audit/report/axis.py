"""Offsets as places in a picture: all to one scale, with a break where a long common part is left out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from replication.base.json_object import Json
from replication.copies.audit.copy_summary import OffsetRange

WHOLE: Final = 100.0
ENOUGH: Final = 0.2
"""The share of the width that the part which differs needs; where it has less, what is before it is left out."""
CONTEXT: Final = 0.25
"""How much of what is common is drawn before the part that differs, as a share of that part."""
STUB: Final = 8.0
"""Per cent of the width for the beginning of the logs, where a part behind it is left out."""
GAP: Final = 5.0
"""Per cent of the width for the break itself."""


@dataclass(frozen=True, slots=True)
class Part:
    """Offsets from `first` up to `end`, between two places in per cent of the width."""

    first: int
    end: int
    left: float
    right: float

    def x(self, offset: int) -> float:
        """Return where an offset of this part stands."""
        return self.left + (self.right - self.left) * _ratio(offset - self.first, self.end - self.first)


@dataclass(frozen=True, slots=True)
class Axis:
    """From the first offset of a partition to its last."""

    parts: tuple[Part, ...]
    focus: int
    """The first offset at which copies contradict each other, or one is cut off; without any, where the first ends."""
    forks: tuple[int, ...]
    """The offsets at which two leaders wrote."""

    @classmethod
    def over(cls, partition: Json, marked: tuple[int, ...] = ()) -> "Axis":
        """Fit the logs of a partition; the offsets that are marked are drawn, whatever is left out."""
        branches = partition["branches"]
        start = min(branch["log_start_offset"] for branch in branches)
        ends = [branch["log_end_offset"] for branch in branches]
        end = max(ends)
        forks = tuple(sorted({fork["offset"] for fork in partition["forks"]}))
        focus = max(min([*_cuts(partition), *forks, *marked], default=min(ends)), start)
        differing = end - focus
        shown_from = focus - int(differing * CONTEXT)
        stub_end = start + int((end - shown_from) * STUB / (WHOLE - STUB - GAP))
        if not differing or differing >= ENOUGH * (end - start) or stub_end >= shown_from:
            return cls((Part(start, end, 0.0, WHOLE),), focus, forks)
        return cls((Part(start, stub_end, 0.0, STUB), Part(shown_from, end, STUB + GAP, WHOLE)), focus, forks)

    @property
    def is_drawn(self) -> bool:
        """Whether there is any offset to draw."""
        return self.parts[-1].end > self.parts[0].first

    @property
    def differs(self) -> bool:
        """Whether anything differs from `focus` on."""
        return self.focus < self.parts[-1].end

    @property
    def left_out(self) -> OffsetRange | None:
        """The offsets that are not drawn."""
        if len(self.parts) == 1:
            return None
        return OffsetRange(self.parts[0].end, self.parts[1].first - 1)

    def x(self, offset: int) -> float | None:
        """Return where an offset stands, in per cent from the left; None where it is left out."""
        inside = min(max(offset, self.parts[0].first), self.parts[-1].end)
        return next((part.x(inside) for part in self.parts if part.first <= inside <= part.end), None)

    def places(self, first: int, end: int) -> Iterator[tuple[float, float]]:
        """Yield from where to where offsets from `first` up to `end` are drawn: on both sides of a break, at most."""
        for part in self.parts:
            inner = max(first, part.first), min(end, part.end)
            if inner[0] < inner[1]:
                yield part.x(inner[0]), part.x(inner[1])


def _cuts(partition: Json) -> Iterator[int]:
    """Yield where records are cut off under the recommended leader."""
    for pair in partition["pairs"]:
        if pair["leader"] == partition["recommended"] and pair["records_lost"]:
            yield pair["truncate_to"]


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
