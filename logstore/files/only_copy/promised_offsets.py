"""Up to where a log that is the only copy was flushed, and where it begins: known after a crash of its process.

The checkpoint files say so too, but are written once for each segment, as each time costs the disk more than the flush.
This file is written over in place with each flush, and not synced itself: a crash of the process leaves it exact, and a
power loss at most too low. It has two slots in two sectors, written in turn: one of them is always whole. What it lacks
by a power loss, a missing file or a damaged one, nobody may take for permission to cut.
"""

from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from epoch.filesystem import REAL, FileSystem
from epoch.resource_limits import is_passing
from logstore.errors import CorruptMetadataError

PROMISED_OFFSETS_NAME: Final = "promised-offsets"

UNKNOWN_START: Final = -1

_SLOT_BYTES: Final = 512
"""A sector, which disks write whole or not at all."""
_SLOTS: Final = 2
_OFFSETS: Final = Struct(">qq")
_CHECKSUM: Final = Struct(">I")


class Promise(NamedTuple):
    """What callers were told that is on stable storage: the records from one offset up to, not including, another."""

    recovery_point: int
    log_start_offset: int
    """-1 where that is not known."""


class PromisedOffsets:
    """The file of one log; the log's lock guards it. All methods raise OSError, but not for want of space."""

    def __init__(self, directory: Path, filesystem: FileSystem = REAL) -> None:
        """Know nothing yet; see `read`."""
        self._path = directory / PROMISED_OFFSETS_NAME
        self._filesystem = filesystem
        self._known: Promise | None = None
        self._next_slot = 0
        self._gap: tuple[int, int] | None = None
        """Offsets at the log's end that no batch has: a truncation inside a batch leaves them, until the next one."""

    def read(self) -> Promise | None:
        """Return what was promised; None where nobody knows."""
        try:
            with open(self._path, "rb") as file:
                data = file.read(_SLOTS * _SLOT_BYTES)
        except OSError:
            return None
        slots = [_decode(data[number * _SLOT_BYTES :]) for number in range(_SLOTS)]
        whole = [slot for slot in slots if slot is not None]
        self._known = max(whole, default=None)
        if self._known is not None:
            self._next_slot = 1 - slots.index(self._known)
        return self._known

    def note(self, recovery_point: int, log_start_offset: int) -> None:
        """Say how far the log is flushed by now; what was said before stays readable until this is whole."""
        promise = Promise(self.start_of_gap(recovery_point), log_start_offset)
        if promise == self._known:
            return
        # What was deleted must not be back: a checkpoint that is synced may say so already.
        moves_start = self._known is None or self._known.log_start_offset != log_start_offset
        self._write(self._next_slot * _SLOT_BYTES, _encode(promise), sync=moves_start)
        self._next_slot = 1 - self._next_slot
        self._known = promise

    def take_back(self, recovery_point: int, log_start_offset: int) -> None:
        """Say durably that this is promised, and no more: before records are taken away, or as the log is closed."""
        promise = Promise(self.start_of_gap(recovery_point), log_start_offset)
        slot = _encode(promise)
        self._write(0, slot.ljust(_SLOT_BYTES, b"\0") + slot, sync=True)
        self._known = promise

    def note_gap(self, start: int, end: int) -> None:
        """Know that the log was cut to end at `end`, and that no batch is left from `start` on."""
        self._gap = (start, end) if start < end else None

    def start_of_gap(self, end: int) -> int:
        """Return where the offsets begin that no batch has below `end`, where the log ends."""
        return self._gap[0] if self._gap is not None and self._gap[1] == end else end

    def remove(self) -> None:
        """Remove the file: other replicas have what the log holds."""
        if self._path.exists():
            self._filesystem.unlink(self._path)

    def _write(self, position: int, data: bytes, *, sync: bool) -> None:
        try:
            self._filesystem.overwrite(self._path, position, data, sync=sync)
        except OSError as error:
            if not is_passing(error):
                raise
            self._known = None
            if sync:  # nobody knows, rather than too much; that needs no space
                with suppress(FileNotFoundError):
                    self._filesystem.unlink(self._path)


def ensure_readable(directory: Path) -> None:
    """Raise CorruptMetadataError where a log's file says nothing any more, OSError where it cannot be read.

    One that is empty, or zeros, is what a loss of power leaves.
    """
    path = directory / PROMISED_OFFSETS_NAME
    data = path.read_bytes()[: _SLOTS * _SLOT_BYTES]
    if any(data) and all(_decode(data[number * _SLOT_BYTES :]) is None for number in range(_SLOTS)):
        advice = "all that sound batches follow counts as promised; the log's next flush writes it again"
        raise CorruptMetadataError("no checksum in it matches", file=path, advice=advice)


def _encode(promise: Promise) -> bytes:
    data = _OFFSETS.pack(*promise)
    return data + _CHECKSUM.pack(crc32(data))


def _decode(slot: bytes) -> Promise | None:
    end = _OFFSETS.size + _CHECKSUM.size
    if len(slot) < end or slot[_OFFSETS.size : end] != _CHECKSUM.pack(crc32(slot[: _OFFSETS.size])):
        return None
    return Promise(*_OFFSETS.unpack_from(slot))
