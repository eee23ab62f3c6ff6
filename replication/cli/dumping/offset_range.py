"""The offsets that a dump is limited to."""

from typing import Annotated, NamedTuple

import typer

OffsetsOption = Annotated[
    str,
    typer.Option(
        metavar="A:B",
        help="Only offsets from A up to, not including, B; either may be left out.",
        show_default=False,
    ),
]
"""By default `:`, all of them."""
FIRST = -(2**63)
"""Damaged records have such offsets."""
END = 2**63


class OffsetRange(NamedTuple):
    """From `start` on, up to but not including `stop`; all offsets unless limited."""

    start: int = FIRST
    stop: int = END

    @classmethod
    def parse(cls, text: str) -> "OffsetRange":
        """Read `A:B`, either side of which may be missing. Raises ValueError.

        >>> OffsetRange.parse("100:")
        OffsetRange(start=100, stop=9223372036854775808)
        """
        start, colon, stop = text.partition(":")
        if not colon or not all(side.isascii() and (side.isdigit() or not side) for side in (start, stop)):
            raise ValueError(f"{text!r} is not a range of offsets such as 100:200, 100: or :200")
        offsets = cls(int(start or FIRST), int(stop or END))
        if offsets.start > offsets.stop:
            raise ValueError(f"{text!r} ends before it starts: did you mean {stop}:{start}?")
        return offsets

    def holds(self, offset: int) -> bool:
        """Whether an offset is within."""
        return self.start <= offset < self.stop

    def meets(self, first: int, last: int) -> bool:
        """Whether any of the offsets from `first` to `last` is within."""
        return max(first, self.start) < min(last + 1, self.stop)
