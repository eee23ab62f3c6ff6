"""Up to where a log that is the only copy was flushed, and where it begins: known after a crash of its process.

The checkpoint files say so too, but are written once for each segment, as each time costs the disk more than the flush.
This file is written over in place with each flush, and not synced itself: a crash of the process leaves it exact, and a
power loss at most too low. It has two slots in two sectors, written in turn: one of them is always whole. What it lacks
by a power loss, a missing file or a damaged one, nobody may take for permission to cut.

It also knows the log's other small files well enough to notice that one of them is gone, or is an older one.
"""

from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Any, Final, NamedTuple
from zlib import crc32

from epoch.base.resource_limits import is_passing
from epoch.cache import LeaderEpochFileCache
from epoch.entry import EpochEntry
from epoch.filesystem import REAL, FileSystem
from epoch.history import EpochHistory
from logstore.errors import CorruptMetadataError, DamagedLogError
from logstore.files.offset_checkpoint import LOG_START_OFFSET_CHECKPOINT
from logstore.files.only_copy.offset_gaps import OffsetGaps
from logstore.files.root_checkpoints import PartitionCheckpoints

PROMISED_OFFSETS_NAME: Final = "promised-offsets"

UNKNOWN_START: Final = -1
UNKNOWN_EPOCH: Final = -1

_SLOT_BYTES: Final = 512
"""A sector, which disks write whole or not at all."""
_SLOTS: Final = 2
_SLOT: Final = Struct(">QqqqiQI?I")
_WITHOUT_EPOCHS: Final = Struct(">QqqqiQI?")
_FORMER_SLOT: Final = Struct(">qq")
"""Of the first releases: a promise alone."""
_CHECKSUM: Final = Struct(">I")


class SmallFiles(NamedTuple):
    """What the other small files of a log say, as far as older ones can be recognized by it."""

    latest_epoch: int = UNKNOWN_EPOCH
    """The last one in `leader-epoch-checkpoint`; -1 where that is not known."""
    gaps_number: int = 0
    """The number of the list of gaps; 0 before there is one."""
    gaps_checksum: int = 0
    """By which a list that is lost is known again."""
    is_followed: bool = False
    """Whether the log has followed other leaders."""
    epochs_checksum: int = 0
    """Of what is in `leader-epoch-checkpoint`, which has none itself; 0 where that is not known."""

    @classmethod
    def now(
        cls, epochs: LeaderEpochFileCache, gaps: OffsetGaps, *, is_followed: bool, found_epoch: int, checksum: int = 0
    ) -> "SmallFiles":
        """Return what they say of a log with these epochs, of this checksum, and gaps.

        `found_epoch` is the latest in the file as it was known before, which it still is where a change is pending.
        """
        if epochs.pending:
            return cls(found_epoch, gaps.number, gaps.checksum, is_followed)
        reserved = epochs.reserved
        latest = epochs.latest_epoch if reserved is None else reserved.epoch
        return cls(UNKNOWN_EPOCH if latest is None else latest, gaps.number, gaps.checksum, is_followed, checksum)

    def certifies(self, history: EpochHistory) -> bool:
        """Whether these are the epochs that the checkpoint had when that was noted."""
        return self.epochs_checksum == _checksum_of(history)


class EpochsChecksum:
    """The checksum of what a log's epochs have in their file, computed once for each change: each flush asks."""

    __slots__ = ("_history", "_reserved", "_value")

    def __init__(self) -> None:
        """Know none yet."""
        self._history: EpochHistory | None = None
        self._reserved: EpochEntry | None = None
        self._value = 0

    def of(self, epochs: LeaderEpochFileCache) -> int:
        """Return it; 0 where the file waits to be written."""
        history, reserved = epochs.history, epochs.reserved
        if epochs.pending:
            return 0
        if history is not self._history or reserved != self._reserved:
            self._value = _checksum_of(history if reserved is None else history.assign(*reserved))
            self._history, self._reserved = history, reserved
        return self._value


def _checksum_of(history: EpochHistory) -> int:
    epochs, starts = history.columns
    return crc32(starts.tobytes(), crc32(epochs.tobytes())) or 1


UNKNOWN_FILES: Final = SmallFiles()


class Promise(NamedTuple):
    """What callers know to be on stable storage: the records from one offset up to, not including, another."""

    recovery_point: int
    log_start_offset: int
    """-1 where that is not known."""
    taken_back: int = 0
    """Up to where records were promised that a truncation has removed: checkpoint files may not have heard of it."""
    files: SmallFiles = UNKNOWN_FILES
    noted_start: int = UNKNOWN_START
    """What this file says, where checkpoint files say that the log starts later; -1 where they do not."""
    checkpointed: int = 0
    """The recovery point in the checkpoint files, be it believed or not."""

    def beside(self, known: PartitionCheckpoints) -> "Promise":
        """Return what is promised by this and by the checkpoint files: each of them may be older than the other."""
        recovery_point, start = known.recovery_point or 0, known.log_start_offset or 0
        start = max(self.log_start_offset, start if start > self.taken_back else UNKNOWN_START)
        return self._replace(
            recovery_point=max(self.recovery_point, recovery_point if recovery_point > self.taken_back else 0),
            checkpointed=recovery_point,
            log_start_offset=start,
            noted_start=self.log_start_offset if start > self.log_start_offset else UNKNOWN_START,
        )

    def doubted_start(self, first: int, epochs: EpochHistory) -> int | None:
        """Return from where on there are records, where nothing but a checkpoint file says that they were deleted.

        No checksum covers that file. What was deleted is no longer in the segments, whose `first` begins there, or the
        epochs begin behind it. None where the start is not in doubt.
        """
        earliest = epochs.earliest
        if self.noted_start == UNKNOWN_START or earliest is None:
            return None
        start = max(self.noted_start, first)
        return start if max(start, earliest.start_offset) < self.log_start_offset else None


class PromisedOffsets:
    """The file of one log; the log's lock guards it. All methods raise OSError, but not for want of space."""

    def __init__(self, directory: Path, filesystem: FileSystem = REAL) -> None:
        """Know nothing yet; see `read`."""
        self._path = directory / PROMISED_OFFSETS_NAME
        self._filesystem = filesystem
        self._known: Promise | None = None
        self._written = 0
        """How often a slot was written."""
        self._next_slot = 0
        self._taken_back = 0
        self._announced_start = UNKNOWN_START
        """The latest that was noted: by a call that failed since, too, of which a checkpoint file may say so by now."""
        self._gaps: dict[int, int] = {}
        """Where offsets begin that no batch has, by where they end: truncations inside batches have left them."""

    def read(self) -> Promise | None:
        """Return what was promised; None where nobody knows."""
        try:
            with open(self._path, "rb") as file:
                data = file.read(_SLOTS * _SLOT_BYTES)
        except OSError:
            return None
        slots = [_decode(data[number * _SLOT_BYTES :]) for number in range(_SLOTS)]
        latest = max((slot for slot in slots if slot is not None), default=None)
        if latest is None:
            self._known = None
            return None
        self._written, self._known = latest
        self._next_slot = 1 - slots.index(latest)
        self._taken_back = self._known.taken_back
        return self._known

    @property
    def latest_epoch(self) -> int:
        """The latest leader epoch that was noted; -1 where none was."""
        return UNKNOWN_EPOCH if self._known is None else self._known.files.latest_epoch

    def note(self, recovery_point: int, log_start_offset: int, files: SmallFiles) -> None:
        """Write how far the log is flushed; what was written before stays readable until this is whole."""
        start = self._announced_start = max(self._announced_start, log_start_offset)
        promise = Promise(self.start_of_gap(recovery_point), start, self._taken_back, files)
        if promise == self._known:
            return
        # What was deleted must not be back: a checkpoint that is synced may say so already.
        moves_start = self._known is None or self._known.log_start_offset != start
        self._known = None  # what breaks it off may come after the slot is written
        is_written = self._write(self._next_slot * _SLOT_BYTES, self._encode(promise), sync=moves_start)
        self._next_slot = 1 - self._next_slot
        self._known = promise if is_written else None

    def take_back(
        self, recovery_point: int, log_start_offset: int, files: SmallFiles = UNKNOWN_FILES, *, cut_from: int = 0
    ) -> None:
        """Durably promise this and no more, before records are removed or as the log is closed.

        Where records go that were promised up to `cut_from`, checkpoint files may go on to say that.
        """
        self._taken_back = max(self._taken_back, cut_from)
        self._announced_start = log_start_offset
        promise = Promise(self.start_of_gap(recovery_point), log_start_offset, self._taken_back, files)
        slot = self._encode(promise)
        self._known = None
        is_written = self._write(0, slot.ljust(_SLOT_BYTES, b"\0") + slot, sync=True)
        self._known = promise if is_written else None

    def forget_taken_back(self) -> None:
        """Note durably that the checkpoint files, which may have promised more until now, no longer do.

        From then on they are right, whatever becomes of this file: also where it is put back as it is now.
        """
        known = self._known
        if self._taken_back == 0:
            return
        self._taken_back = 0
        if known is not None:
            self.take_back(known.recovery_point, known.log_start_offset, known.files)

    def note_gap(self, start: int, end: int, recovery_point: int) -> None:
        """Know that the log was cut to end at `end`, and that no batch is left from `start` on."""
        # Up to the recovery point, where one may end as well, nobody asks for others any more.
        kept = {each: begin for each, begin in self._gaps.items() if recovery_point <= each <= start}
        self._gaps = kept | ({end: start} if start < end else {})

    def start_of_gap(self, end: int) -> int:
        """Return where the offsets begin that no batch has below `end`, where the log ends or a flush has ended."""
        # That may lie in a gap: another truncation may have made one longer since.
        return next((start for gap_end, start in self._gaps.items() if start < end <= gap_end), end)

    def remove(self) -> None:
        """Remove the file: other replicas have what the log holds."""
        if self._path.exists():
            self._filesystem.unlink(self._path)

    def _encode(self, promise: Promise) -> bytes:
        self._written += 1
        data = _SLOT.pack(self._written, *promise[:3], *promise.files)
        return data + _CHECKSUM.pack(crc32(data))

    def _write(self, position: int, data: bytes, *, sync: bool) -> bool:
        """Write it; return False where there is no space, or a limit is reached."""
        try:
            self._filesystem.overwrite(self._path, position, data, sync=sync)
        except OSError as error:
            if not is_passing(error):
                raise
            if sync:  # nobody knows, rather than too much; that needs no space
                with suppress(FileNotFoundError):
                    self._filesystem.unlink(self._path)
            return False
        return True


def ensure_readable(directory: Path) -> None:
    """Raise CorruptMetadataError where a log's file says nothing any more, OSError where it cannot be read.

    One that is empty, or zeros, is what a loss of power leaves.
    """
    path = directory / PROMISED_OFFSETS_NAME
    data = path.read_bytes()[: _SLOTS * _SLOT_BYTES]
    if any(data) and all(_decode(data[number * _SLOT_BYTES :]) is None for number in range(_SLOTS)):
        advice = "all that sound batches follow counts as promised; the log's next flush writes it again"
        raise CorruptMetadataError("no checksum in it matches", file=path, advice=advice)


def start_in_doubt(directory: Path, start: int, checkpointed: int) -> DamagedLogError:
    """Return the error for a log that starts at `start` by its own word, and later by a checkpoint file alone."""
    error = DamagedLogError(
        f"by the checkpoint file the log starts at offset {checkpointed:,}, and by {PROMISED_OFFSETS_NAME} at "
        f"{start:,} or before, where it has records: one of the two is damaged, or an older one",
        file=directory / LOG_START_OFFSET_CHECKPOINT,
        offset=start,
        advice="nothing was changed: put the right one in its place; or open the log with "
        f'damage="hole" or damage="cut", by which it starts at {start:,}',
    )
    error.end_offset = checkpointed
    return error


def _decode(slot: bytes) -> tuple[int, Promise] | None:
    """Return how many slots were written before, and up to, this one, and what it says; None where it is not whole."""
    found = _checked(slot, _SLOT) or _checked(slot, _WITHOUT_EPOCHS)
    if found is not None:
        written, recovery_point, start, taken_back, *files = found
        return written, Promise(recovery_point, start, taken_back, SmallFiles(*files))
    former = _checked(slot, _FORMER_SLOT)
    return None if former is None else (0, Promise(*former))


def _checked(slot: bytes, layout: Struct) -> tuple[Any, ...] | None:
    end = layout.size + _CHECKSUM.size
    if len(slot) < end or slot[layout.size : end] != _CHECKSUM.pack(crc32(slot[: layout.size])):
        return None
    return layout.unpack_from(slot)
