"""Up to where a cursor has committed, who led there, and whether a log still has those records."""

import re
import zlib
from pathlib import Path
from typing import Final, NamedTuple, Self

from epoch.checkpoint import parse_checkpoint_lines, parse_number, read_checkpoint
from epoch.errors import CheckpointError
from epoch.history import EpochHistory
from logstore.errors import CorruptCheckpointError

NO_EPOCH = -1
_VERSION: Final = b"1"
"""Of files with a checksum: earlier releases wrote checkpoints of version 0, without one."""
_WRITTEN: Final = re.compile(rb"1\n(-?[0-9]{1,10}) (-?[0-9]{1,19}) ([0-9]{1,19})\n[0-9a-f]{8}\n")


class CommittedPosition(NamedTuple):
    """The content of a cursor's file: three lines, with the version 1, these three fields, and their CRC-32."""

    epoch: int
    """The leader epoch of the last record below `offset`; -1 where it has none."""
    epoch_start: int
    """Where that epoch began; -1 where there is none."""
    offset: int
    """All records below it were read."""

    @classmethod
    def at(cls, offset: int, history: EpochHistory) -> Self:
        """Commit `offset` of a log with this history."""
        epoch = history.epoch_for_offset(offset - 1)
        entry = None if epoch is None else history.entry_for(epoch)
        return cls(NO_EPOCH, NO_EPOCH, offset) if entry is None else cls(entry.epoch, entry.start_offset, offset)

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Read a cursor's file; None where it is missing. Raises CorruptCheckpointError, OSError."""
        try:
            data = read_checkpoint(path)
            found = cls._checked(data) if data.startswith(_VERSION) else cls._unchecked(data, path)
        except FileNotFoundError:
            return None
        except (CheckpointError, ValueError) as error:
            raise _unreadable(path, str(error)) from error
        if found.offset < 0 or min(found) < NO_EPOCH:
            raise _unreadable(path, f"{found} is no place in a log")
        return found

    def encode(self) -> bytes:
        """Return the content of the cursor's file."""
        fields = b"%d %d %d\n" % self
        return b"%b\n%b%08x\n" % (_VERSION, fields, zlib.crc32(fields))

    @classmethod
    def _checked(cls, data: bytes) -> Self:
        """Read a file that has to be what `encode` returns, byte for byte. Raises ValueError."""
        written = _WRITTEN.fullmatch(data)
        found = cls(*map(int, written.groups())) if written is not None else None
        if found is None or found.encode() != data:
            raise ValueError("its checksum does not match")
        return found

    @classmethod
    def _unchecked(cls, data: bytes, path: Path) -> Self:
        """Read a file of an earlier release: a checkpoint with one entry. Raises CheckpointError, ValueError."""
        (row,) = parse_checkpoint_lines(data, path=path, fields=3)
        bits = (32, 64, 64)
        return cls(
            *(
                parse_number(text, bits=size, path=path, line=row.line)
                for text, size in zip(row.fields, bits, strict=True)
            )
        )

    def divergence(self, history: EpochHistory, log_start_offset: int, log_end_offset: int) -> int | None:
        """Find where the records below `offset` end that this log has as they were read; None where it has them all.

        As a follower does (KIP-101, KIP-279), by the epochs: what was cut and written again within one epoch looks the
        same. What was deleted below the log's start counts as there.
        """
        if self.offset <= log_start_offset:
            return None
        first = min(self.offset, log_end_offset)
        if self.epoch != NO_EPOCH and history:
            first = min(first, self._end_in(history, log_start_offset, log_end_offset))
        first = max(first, log_start_offset)
        return first if first < self.offset else None

    def _end_in(self, history: EpochHistory, log_start_offset: int, log_end_offset: int) -> int:
        """Return where the records end that this log has of the epoch and those before it."""
        entry = history.entry_for(self.epoch)
        if entry is None:
            # Its records are gone; the later epochs may have begun before it did.
            following = history.next_entry(self.epoch)
            return self.epoch_start if following is None else min(self.epoch_start, following.start_offset)
        if entry.start_offset not in {self.epoch_start, log_start_offset}:
            return min(entry.start_offset, self.epoch_start)
        return history.end_offset_for(self.epoch, log_end_offset).end_offset


def _unreadable(path: Path, what: str) -> CorruptCheckpointError:
    return CorruptCheckpointError(
        f"the cursor's file cannot be read: {what}",
        file=path,
        advice="remove the file; the cursor then begins at the log's start, and `seek` moves it",
    )
