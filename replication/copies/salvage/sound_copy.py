"""A copy of a partition, as far as it can be trusted."""

from collections import deque
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epoch.base.resource_limits import ResourceLimitError
from logstore.batch.any_batch import Batch
from logstore.batch.batch_attributes import TRANSACTIONAL_BIT
from logstore.batch.batches import read_batch
from logstore.batch.columns import BatchColumns, StopReason
from logstore.batch.layout import MAGIC
from logstore.errors import CorruptBatchError, LogStoreError, TornBatchError
from logstore.offline.log_file import LogFile
from logstore.offline.recovered_log import RecoveredLog
from logstore.verify.compaction import is_compacted
from replication.copies.planning.known_end import lost_end, lost_start

MOST_IN_FLIGHT: Final = 5
"""Batches that an idempotent producer may send before the first of them is acknowledged."""
_SOUND_STOPS: Final = frozenset({StopReason.END, StopReason.MORE, StopReason.LEGACY})


class DamagedCopy(NamedTuple):
    """A damaged copy, and from where on it is not read."""

    source: str
    offset: int
    """Nothing from there on is read, up to the end of a gap."""
    error: LogStoreError


@dataclass(slots=True)
class SoundCopy:
    """One broker's copy, and what the headers of its batches say from the offset on from which it was checked."""

    name: str
    log: RecoveredLog
    start: int
    """From there on it was checked, as far as it has that."""
    end: int
    """Up to there batches are sound; beyond it nothing is read."""
    damage: LogStoreError | None
    damage_below: LogStoreError | None = None
    """The first damaged batch below what was to be checked, where one was seen on the way there."""
    gap: LogStoreError | None = None
    """The first place where a batch does not follow the one before it: normal in a log that was compacted."""
    has_holes: bool = False
    """Whether a batch was seen that has fewer records than offsets, as the cleaner leaves them."""
    is_transactional: bool = False
    """Whether a batch of a transaction was seen."""
    renumbered: set[int] = field(default_factory=set)
    """Idempotent producers, without transactions, that were seen in another epoch than their first."""

    @classmethod
    def check(cls, name: str, log: RecoveredLog, start: int) -> "SoundCopy":
        """Check the checksums and the order of the batches that reach `start` or beyond. Raises OSError."""
        copy = cls(name, log, start, max(start, log.log_start_offset), log.damage)
        try:
            for file in log.files_from(start):
                for columns in file.scan():
                    copy._take(file, columns, start)
        except ResourceLimitError:
            raise
        except LogStoreError as error:
            copy.damage = error
        else:
            copy.end = log.log_end_offset
        return copy

    def batches(self, start: int) -> Iterator[Batch]:
        """Walk over the sound batches that reach `start` and the log's start, or beyond. Raises OSError."""
        start = max(start, self.log.log_start_offset)
        for file in self.log.files_from(start):
            for batch in file.batches():
                if batch.last_offset >= self.end:
                    return
                if batch.last_offset >= start:
                    yield batch

    def transaction_batches(self) -> Iterator[Batch]:
        """Walk over the batches of transactions and their markers, from the log's start to the end of what is sound."""
        for file in self.log.files_from(self.log.log_start_offset):
            for columns in file.scan(check_crc=False):
                rows = (columns.attributes & TRANSACTIONAL_BIT != 0) & (columns.magic == MAGIC)
                for position in columns.position[rows & (columns.last_offset < self.end)].tolist():
                    yield read_batch(file.data, position, str(file.path))

    def last_batches(self, producer_ids: AbstractSet[int], end: int) -> Iterator[Batch]:
        """Walk over the last batches of each producer below the offset `end`: as many as it may have had in flight."""
        last: dict[int, deque[tuple[LogFile, int]]] = {each: deque(maxlen=MOST_IN_FLIGHT) for each in producer_ids}
        for file in self.log.files_from(self.log.log_start_offset) if producer_ids else ():
            for columns in file.scan(check_crc=False):
                rows = np.isin(columns.producer_id, list(producer_ids)) & (columns.last_offset < end)
                rows &= columns.attributes & TRANSACTIONAL_BIT == 0
                for producer_id, position in zip(columns.producer_id[rows], columns.position[rows], strict=True):
                    last[int(producer_id)].append((file, int(position)))
        for batches in last.values():
            for file, position in batches:
                batch = read_batch(file.data, position, str(file.path))
                if batch.is_valid():
                    yield batch

    def is_cut_short(self) -> bool:
        """Whether its end is only what a broker that was killed leaves: a part of a batch."""
        from logstore.offline.batch_search import BatchSearch  # noqa: PLC0415  numba loads on the first bulk operation

        log = self.log
        if self.damage is None or self.damage is not log.damage or not isinstance(self.damage, TornBatchError):
            return False
        if len(log.segments) < len(log.partition.segments):
            return False
        # A batch whose length is damaged seems to reach beyond the file, too; sound ones may follow it.
        return BatchSearch(log.segments[-1].open_log()).find(log.valid_bytes + 1) < 0

    def _look_for_gap(self, file: LogFile, sound: BatchColumns, expected: NDArray[np.int64]) -> None:
        """See whether offsets are missing before these batches; `expected` is where each should begin at the latest."""
        self.has_holes |= bool((sound.record_count < sound.last_offset - sound.base_offset + 1).any())
        gaps = np.flatnonzero(sound.base_offset > expected)
        if self.gap is None and len(gaps):
            first, end = int(expected[gaps[0]]), int(sound.base_offset[gaps[0]])
            self.gap = LogStoreError(
                f"the log has no offsets {first:,} to {end - 1:,}, but others behind them",
                file=file.path,
                position=int(sound.position[gaps[0]]),
                offset=first,
                advice="epochlog repair may bring them back",
            )

    def _take(self, file: LogFile, columns: BatchColumns, start: int) -> None:
        """Go on to the end of these batches. Raises LogStoreError at the first that is not sound."""
        if self.damage_below is None and not columns.crc_valid.all():
            self.damage_below = _first_damage(file, columns.where(columns.last_offset < start))
        wanted = columns.where(columns.last_offset >= start)
        before = np.concatenate(([self.end - 1], wanted.last_offset[:-1]))[: len(wanted)]
        is_early = wanted.base_offset <= before
        is_early[:1] &= self.end > max(start, self.log.log_start_offset)  # the first may begin before the fork
        unsound = np.flatnonzero(~wanted.crc_valid | is_early)
        sound = wanted.first(int(unsound[0])) if len(unsound) else wanted
        if len(sound):
            self._look_for_gap(file, sound, before[: len(sound)] + 1)
            self.end = int(sound.last_offset[-1]) + 1
            self.is_transactional |= bool((sound.attributes & TRANSACTIONAL_BIT).any())
            is_renumbered = (sound.producer_epoch > 0) & (sound.attributes & TRANSACTIONAL_BIT == 0)
            self.renumbered.update(sound.producer_id[is_renumbered].tolist())
        if len(unsound):
            batch = read_batch(file.data, int(wanted.position[unsound[0]]), str(file.path))
            batch.ensure_valid()
            raise CorruptBatchError(
                f"the batch begins below {self.end:,}, where the one before it ends",
                file=batch.file,
                position=batch.position,
                offset=batch.base_offset,
                advice="take the partition from another replica",
            )
        if columns.stop not in _SOUND_STOPS:
            read_batch(file.data, columns.next_position, str(file.path))  # which says what is wrong


def damage_of(
    logs: Mapping[str, RecoveredLog], copies: Mapping[str, SoundCopy], *, compacted: bool = False
) -> Iterator[DamagedCopy]:
    """Give what is not read of any of the logs, of which `copies` were checked, or was lost by them as their files say.

    `compacted` is whether the topic is known to be. Raises EpochError and OSError.
    """
    compacted = compacted or any(copy.has_holes or is_compacted(copy.log.partition) for copy in copies.values())
    for name, log in logs.items():
        copy = copies.get(name)
        end, damage = (copy.end, copy.damage) if copy else (log.log_end_offset, log.damage)
        if copy and copy.gap and not compacted:
            yield DamagedCopy(name, copy.gap.offset or 0, copy.gap)
        if copy and copy.start < log.log_start_offset and (lost := lost_start(log)):
            yield DamagedCopy(name, copy.start, lost)
        if error := damage or lost_end(log):
            yield DamagedCopy(name, end, error)


def _first_damage(file: LogFile, columns: BatchColumns) -> LogStoreError | None:
    for position in columns.position[~columns.crc_valid].tolist():
        try:
            read_batch(file.data, position, str(file.path)).ensure_valid()
        except LogStoreError as error:
            return error
    return None
