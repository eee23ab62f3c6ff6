"""Which closed segments an audit reads again though nothing shows a change: some each time, by turns."""

from dataclasses import dataclass
from zlib import crc32

from replication.copies.audit.snapshots.work import Copy

_MICROSECONDS = 1_000


@dataclass(frozen=True, slots=True)
class Rotation:
    """One run of those in which every segment is read at least once."""

    runs: int
    """How many they are."""
    number: int
    """Of this run: how many there were before it."""
    oldest_ms: int
    """When the first of the `runs` that end with this one began, in milliseconds since 1970 UTC; 0 if none did."""

    def is_due(self, copy: Copy, file: str, read_at: int) -> bool:
        """Whether a segment that was last read at `read_at`, in microseconds since 1970 UTC, is to be read again.

        Segments have their turns by a checksum of their names, so that every run reads about as many bytes. What has
        missed its turn, as runs of two schedulers have the same number, is read once it would be too late otherwise.
        """
        turn = crc32(f"{copy.replica}\n{copy.topic_partition}\n{file}".encode(errors="surrogateescape"))
        return turn % self.runs == self.number % self.runs or read_at // _MICROSECONDS < self.oldest_ms
