"""The truncations of a log, as whoever reads it has to hear of them."""

from typing import Self


class Cut:
    """A moment between two truncations of a log. Each leads to the next, and lasts as long as a reader stands there.

    So a reader hears of each truncation once, however late, and nobody keeps a list of readers.
    """

    __slots__ = ("next", "offset")

    def __init__(self) -> None:
        """Be the latest."""
        self.offset: int = -1
        """Where the truncation that ended this moment has cut the log."""
        self.next: Self | None = None

    def end(self, offset: int) -> Self:
        """Return the next moment, which a truncation to `offset` begins."""
        self.offset = offset
        self.next = following = type(self)()
        return following
