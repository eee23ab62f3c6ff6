"""Kafka's text checkpoint files, and the one that holds a partition's leader epochs.

A checkpoint is a version line, a count line, and one line of fields for each entry:

    0
    2
    3 1000
    5 1500

Reading accepts what Kafka accepts: an empty file, a version alone, a missing final newline, CRLF, tabs, several
spaces, trailing blanks, plus signs. Everything else is an error that names the file and the line.
"""

import re
import sys
from collections.abc import Iterable
from itertools import starmap
from pathlib import Path
from typing import Final, NamedTuple

from epoch.base.resource_limits import read_bounded
from epoch.entry import EpochEntry
from epoch.errors import CheckpointError
from epoch.filesystem import REAL, FileSystem
from epoch.history import EpochHistory, added_entries

CHECKPOINT_VERSION: Final = 0
MAX_CHECKPOINT_BYTES: Final = 16 << 20
"""No checkpoint is that large (60,000 partitions of topics with the longest names, or 500,000 epochs); what is larger
is not read into memory."""

LEADER_EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"

# What Kafka and this module write themselves, with numbers that fit: it needs no look at each line.
_AS_WRITTEN: Final = re.compile(rb"0\n[0-9]{1,9}+\n(?:[0-9]{1,9}+ [0-9]{1,18}+\n)*+")
_BULK_BYTES: Final = 64 << 10
"""From so many on it pays to load numpy, which reads what this module has written."""
_NUMPY_BYTES: Final = 1 << 10
"""From so many on it is faster where it is loaded."""
_BULK_ENTRIES: Final = 4_096
"""From so many on numpy writes them."""
_BLANKS: Final = re.compile(r"[ \t\n\x0b\f\r]+")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,40}")


class CheckpointRow(NamedTuple):
    """One entry's fields, and the line of the file (counted from 1) where they stand."""

    line: int
    fields: tuple[str, ...]


def parse_checkpoint_lines(data: bytes, *, path: Path, fields: int) -> list[CheckpointRow]:
    """Split a checkpoint's bytes into entries of `fields` fields each.

    Raises CheckpointError. Memory follows the bytes given; the count that the file states is only compared.
    """
    lines = _lines(data, path)
    _check_version(lines, path)
    if len(lines) < 2:
        return []
    count = parse_number(lines[1], bits=32, path=path, line=2)
    rows = [CheckpointRow(line, _fields(text)) for line, text in enumerate(lines[2:], start=3)]
    for row in rows:
        if len(row.fields) != fields or not row.fields[0]:
            raise CheckpointError(path, row.line, f"{_quoted(lines[row.line - 1])} does not have {fields} fields")
    if count != len(rows):
        raise CheckpointError(path, 2, f"the count is {count}, but {len(rows)} entries follow")
    return rows


def parse_number(text: str, *, bits: int, path: Path, line: int) -> int:
    """Read a whole number that fits `bits` signed bits (Kafka: Integer.parseInt, Long.parseLong)."""
    if _NUMBER.fullmatch(text) is None:
        raise CheckpointError(path, line, f"{_quoted(text)} is not a number")
    number = int(text)
    if not -1 << bits - 1 <= number < 1 << bits - 1:
        raise CheckpointError(path, line, f"{text} does not fit {bits} bits")
    return number


def format_checkpoint(rows: Iterable[Iterable[object]]) -> bytes:
    r"""Write entries as a checkpoint's bytes, as Kafka does.

    >>> format_checkpoint([(3, 1000), (5, 1500)])
    b'0\n2\n3 1000\n5 1500\n'
    """
    lines = [" ".join(map(str, row)) for row in rows]
    return "\n".join([str(CHECKPOINT_VERSION), str(len(lines)), *lines, ""]).encode()


def read_checkpoint(path: Path) -> bytes:
    """Read a checkpoint's bytes, refusing a file that is too large to be one. Raises OSError, CheckpointError."""
    with open(path, "rb", buffering=0) as file:
        data = read_bounded(file, MAX_CHECKPOINT_BYTES)
    if len(data) > MAX_CHECKPOINT_BYTES:
        raise CheckpointError(path, 1, f"more than {MAX_CHECKPOINT_BYTES} bytes are too many for a checkpoint")
    return data


class LeaderEpochCheckpoint:
    """The file `leader-epoch-checkpoint` of a partition directory (Kafka: LeaderEpochCheckpointFile)."""

    def __init__(self, partition_dir: Path, filesystem: FileSystem = REAL) -> None:
        self.path: Path = partition_dir / LEADER_EPOCH_CHECKPOINT
        self._filesystem = filesystem
        # What was written last, as a history and as its lines: mostly one line is added to them.
        self._written: tuple[EpochHistory, bytes] = EpochHistory(), b""

    def __repr__(self) -> str:
        return f"LeaderEpochCheckpoint({self.path})"

    def read(self) -> list[EpochEntry]:
        """Return the file's entries, unrepaired; none if the file does not exist.

        Raises CheckpointError with the file and line; `EpochHistory.from_batches` then rebuilds the history.
        """
        return list(starmap(EpochEntry, self._entries(self._data())))

    def read_history(self) -> EpochHistory:
        """Return the entries as a history, repaired if they do not rise. Raises CheckpointError, OSError."""
        data = self._data()
        if len(data) >= (_NUMPY_BYTES if "numpy" in sys.modules else _BULK_BYTES):
            from epoch.checkpoint_columns import rising_columns  # noqa: PLC0415  numpy loads on the first bulk operation

            columns = rising_columns(data)
            if columns is not None:
                return EpochHistory.of_rising(*columns)
        return EpochHistory(self._entries(data))

    def write(self, entries: Iterable[EpochEntry]) -> None:
        """Replace the file's content, atomically and durably. Raises OSError."""
        self._filesystem.write_atomically(self.path, format_checkpoint(entries))

    def write_history(self, history: EpochHistory) -> None:
        """Replace the file's content by a history's entries, as `write` does."""
        before, lines = self._written
        added = added_entries(history, before)
        lines = _format_history(history) if added is None else lines + _format_lines(added)
        self._written = history, lines
        self._filesystem.write_atomically(self.path, b"%d\n%d\n%b" % (CHECKPOINT_VERSION, len(history), lines))

    def _data(self) -> bytes:
        try:
            return read_checkpoint(self.path)
        except FileNotFoundError:
            return b""

    def _entries(self, data: bytes) -> Iterable[tuple[int, int]]:
        if _AS_WRITTEN.fullmatch(data):
            _, count, *numbers = map(int, data.split())
            if len(numbers) == 2 * count:
                return zip(numbers[::2], numbers[1::2], strict=True)
        return map(self._entry, parse_checkpoint_lines(data, path=self.path, fields=2))

    def _entry(self, row: CheckpointRow) -> tuple[int, int]:
        epoch, start_offset = row.fields
        entry = (
            parse_number(epoch, bits=32, path=self.path, line=row.line),
            parse_number(start_offset, bits=64, path=self.path, line=row.line),
        )
        if min(entry) < 0:
            raise CheckpointError(self.path, row.line, "an epoch and its start offset are never negative")
        return entry


def _format_history(history: EpochHistory) -> bytes:
    if len(history) < _BULK_ENTRIES:
        return _format_lines(zip(*history.columns, strict=True))
    from epoch.checkpoint_columns import format_columns  # noqa: PLC0415  numpy loads on the first bulk operation

    return format_columns(*history.columns)


def _format_lines(entries: Iterable[tuple[int, int]]) -> bytes:
    return b"".join(map(b"%d %d\n".__mod__, entries))


def _lines(data: bytes, path: Path) -> list[str]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CheckpointError(path, line, "the bytes are not text") from error
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _check_version(lines: list[str], path: Path) -> None:
    if lines and parse_number(lines[0], bits=32, path=path, line=1) != CHECKPOINT_VERSION:
        raise CheckpointError(path, 1, f"version {_quoted(lines[0])} is not {CHECKPOINT_VERSION}")


def _fields(line: str) -> tuple[str, ...]:
    fields = _BLANKS.split(line)
    return tuple(fields if fields[-1] else fields[:-1])


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}...")
