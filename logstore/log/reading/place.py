"""Up to where something has read a log, and what was truncated since."""

from pathlib import Path

from logstore.errors import LogTruncatedError
from logstore.log.state.log_contents import Cut, LogContents


class Place:
    """The next offset to read, moved by whoever reads from here."""

    __slots__ = ("_advice", "_contents", "_cut", "_directory", "moves", "offset")

    def __init__(
        self,
        directory: Path,
        contents: LogContents,
        offset: int,
        *,
        advice: str = "with `log.records({0})` or `log.tail({0})`",
    ) -> None:
        """Stand at `offset` of the log as it is now; `advice` says how to continue after a truncation to `{0}`."""
        self._advice = advice
        self._directory = directory
        self._contents = contents
        self._cut = contents.last_cut
        self.offset: int = offset
        """All records below it have been handed out."""
        self.moves: int = 0
        """How often it was moved by hand: who reads from here then looks again."""

    def move(self, offset: int) -> None:
        """Go on from `offset` of the log as it is now, whatever was truncated."""
        self.moves += 1
        self._cut = self._contents.last_cut
        self.offset = offset

    def diverge(self, offset: int | None) -> None:
        """Know that what was read is in the log no more from `offset` on; None where all of it is."""
        if offset is not None:
            before = Cut()
            before.offset, before.next = offset, self._cut
            self._cut = before

    @property
    def is_cut(self) -> bool:
        """Whether the log was truncated since `ensure_valid`."""
        return self._cut.next is not None

    def ensure_valid(self) -> None:
        """Raise LogTruncatedError, and again at each call, where what was read is not in the log any more."""
        first, cut = self.offset, self._cut
        while cut.next is not None:
            first, cut = min(first, cut.offset), cut.next
        if first < self.offset:
            raise LogTruncatedError(
                f"the log was truncated below {self.offset:,}, up to where it was read: the histories diverge",
                file=self._directory,
                offset=first,
                advice=f"undo the effects of the records from {first:,} on, and continue there "
                + self._advice.format(first),
            )
        self._cut = cut
