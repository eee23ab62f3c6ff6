"""Open a partition directory as a log, and recover it where it was not closed cleanly (Kafka: LogLoader).

In order: files that deletion or compaction left half-way are removed or put in place; segments without usable indexes
are recovered; after an unclean stop so are all segments from the recovery point on, and the log ends at the first
batch that is torn or damaged; the leader epochs are made to agree with what is left; the producers' state is read from
its latest snapshot and brought up to the log's end.

Every step may be cut off by another crash: what was done is found done the next time, and nothing is marked as
recovered (the recovery point does not move).
"""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from epoch.base.resource_limits import OUT_OF_SPACE
from epoch.filesystem import REAL
from epoch.history import EpochHistory
from logstore import offline, producers, recovery
from logstore.base_offsets import first_unflushed
from logstore.clock import now_ms
from logstore.errors import CorruptRecordError, InvalidBatchHeaderError, TornBatchError
from logstore.file_name import INDEX_KINDS, FileFate, FileKind, file_name, parse_file_name
from logstore.files.only_copy.offset_gaps import Hole, OffsetGaps
from logstore.files.only_copy.promised_offsets import UNKNOWN_FILES, UNKNOWN_START, Promise
from logstore.indexes.index_sanity import last_indexed_position, sane_position
from logstore.producers.producer_replay import rebuild_producers
from logstore.producers.producer_state import ProducerState
from logstore.recovery import damage as damages
from logstore.recovery.damage.only_copy import OnlyCopy
from logstore.recovery.damage_policy import DamagePolicy
from logstore.recovery.left_over_files import LeftOvers, orphaned_indexes, plan_left_overs
from logstore.recovery.loaded_log import LoadedLog
from logstore.recovery.recovered_epochs import RecoveredEpochs
from logstore.recovery.recovered_gaps import RecoveredGaps
from logstore.recovery.recovery_report import RecoveryReport
from logstore.recovery.segment_ends import LastBatch, end_of_segment
from logstore.segment.live_segment import LiveSegment
from logstore.segment.segment_list import SegmentList

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from epoch.filesystem import FileSystem
    from logstore.files.only_copy.promised_offsets import Promise
    from logstore.log_config import LogConfig
    from logstore.recovery.damage.treatment import Treatment
    from logstore.recovery.segment_walk import OnBytes, SegmentRecovery
    from logstore.segment.open_files import OpenFiles


def load_log(
    directory: Path,
    config: LogConfig,
    *,
    log_start_offset: int | None = None,
    recovery_point: int = 0,
    cleaner_offset: int | None = None,
    clean_shutdown: bool = False,
    was_compacted: bool = False,
    has_remote: bool | None = False,
    damage: DamagePolicy = DamagePolicy.REPLICATED,
    promise: Promise | None = None,
    is_in_root: bool = False,
    check_all: bool = False,
    filesystem: FileSystem = REAL,
    clock: Callable[[], int] = now_ms,
    expiry_clock: Callable[[], int] | None = None,
    open_files: OpenFiles | None = None,
    progress: OnBytes = lambda _: None,
) -> LoadedLog:
    """Open the log of a partition directory.

    `log_start_offset`, `recovery_point` and `cleaner_offset` are what the root's checkpoints say, if they do;
    `clean_shutdown` says whether the log was closed in order, so that nothing needs recovery, and `was_compacted`
    whether a cleaner may have been over it, whatever its topic's configuration is now; `has_remote` whether remote
    storage has its beginning, None where nobody says it. `damage` says what becomes of records that are lost below
    what `promise` says, if that is known, and `is_in_root` whether a broker may have had the log since that was noted;
    of a log that is the only copy the next leader epoch is reserved where it may lack what readers have seen. With
    `check_all` the batches of all segments are checked, and not only of those that a crash may have damaged. `clock`
    gives milliseconds since 1970 UTC, and `expiry_clock` the time by which producers are too old, by default the same.
    `open_files` bounds the segments' descriptors and mappings. `progress` is called with the number of bytes that were
    recovered since.

    Raises OSError, SegmentTooLargeError, and DamagedLogError.
    """
    loader = _Loader(directory, config, log_start_offset, recovery_point, filesystem, clock, open_files, progress)
    loader.expiry_clock = expiry_clock or clock
    loader.policy = damage
    loader.has_remote = has_remote
    loader.checks_all = check_all
    if not damage.is_replicated:
        loader.guard(damage, promise, cleaner_offset, was_closed=clean_shutdown)
        loader.is_in_root = is_in_root
    elif damage.keeps_promises:
        # The leader is asked about what is missing before anything is cut, at the beginning, too.
        loader.has_remote = bool(has_remote)
        loader.chain = damages.segment_chain.SegmentChain(directory, is_compacted=was_compacted or config.is_compacted)
    return loader.load(clean_shutdown=clean_shutdown)


_WITHIN: Final = "it begins within the segment before"


class _EpochsDeniedError(Exception):
    """Batches before damage are of other leader epochs than is certain."""


class _Loader:
    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        log_start_offset: int | None,
        recovery_point: int,
        filesystem: FileSystem,
        clock: Callable[[], int],
        open_files: OpenFiles | None,
        progress: OnBytes,
    ) -> None:
        self._directory = directory
        self._config = config
        self._told_start = log_start_offset
        self._log_start_offset = log_start_offset or 0
        self._recovery_point = recovery_point
        self._filesystem = filesystem
        self._clock = clock
        self.expiry_clock = clock
        """By which producers are too old."""
        self._open_files = open_files
        self._progress = progress
        self._report = RecoveryReport()
        self._base_offsets: list[int] = []
        self._epochs: list[tuple[int, int]] = []
        self._started_over = False
        self._opened: list[LiveSegment] = []
        self.policy = DamagePolicy.REPLICATED
        """What becomes of damage."""
        self.has_remote: bool | None = False
        """Whether remote storage has what lies below the first segment; None where nobody says it."""
        self.checks_all = False
        """Whether the batches of segments are checked that were flushed."""
        self._checked_epochs: EpochHistory | None = None
        """Which their leader epochs have to fit."""
        self._certain_epochs: EpochHistory | None = None
        """Of which it is known that it is right: checked once batches contradict it."""
        self._only_copy: OnlyCopy | None = None
        self.chain: damages.segment_chain.SegmentChain | None = None
        """Of a log that others have copies of, where it is not to end as Kafka's."""
        self._promise: Promise | None = None
        """Of an only copy, as far as that is known."""
        self.is_in_root = False
        """Whether a broker may have had the log since it was an only copy."""
        self._begun: list[str] = []
        """Files of segments that were begun before the one before them was synced: see `LateSync`."""
        self._deleting: list[str] = []
        """Files of segments that are deleted, and are there yet."""
        self._keeps_later = False
        """Whether the segments behind the one that was damaged last stay."""
        self._misses_first = True
        """Whether nobody has looked yet whether the first segment is missing, or what to do about it."""
        self._ends: dict[int, int] = {}
        """Where the offsets of segments end, by their base offsets, as far as that is known."""
        self._was_closed = False
        """Whether the log was closed in order: then all of it was promised."""
        self._last_batch: LastBatch | None = None
        """Of a log that was closed in order."""
        self._waiting: list[Callable[[], object]] = []
        """What is to be written once it is known that the log is opened."""

    def guard(
        self, policy: DamagePolicy, promise: Promise | None, cleaner_offset: int | None, *, was_closed: bool
    ) -> None:
        """Give up nothing that was promised, but by this policy; below `cleaner_offset` the log was compacted."""
        self._promise = promise
        gaps = RecoveredGaps(
            self._directory,
            self._filesystem,
            promise,
            cleaner_offset,
            self._report,
            is_compacted=self._config.is_compacted,
        )
        recovery_point = None if promise is None else promise.recovery_point
        self._only_copy = OnlyCopy(
            self._directory,
            policy,
            recovery_point,
            self._recovery_point,
            gaps,
            was_closed=was_closed,
            checks_all=self.checks_all,
        )
        self._report.is_only_copy = True

    def load(self, *, clean_shutdown: bool) -> LoadedLog:
        """Load the log; if any step fails, no segment stays open."""
        try:
            return self._load(clean_shutdown=clean_shutdown)
        except BaseException as error:
            for segment in self._opened:
                segment.abandon()
            if self._report.damaged_offset_gaps:
                error.add_note(f"holes that the log may have are not known: {self._report.damaged_offset_gaps}")
            raise

    def _load(self, *, clean_shutdown: bool) -> LoadedLog:
        start = time.perf_counter()
        self._was_closed = clean_shutdown
        self._finish_what_was_left_over()
        noted = UNKNOWN_FILES if self._promise is None else self._promise.files
        epochs = RecoveredEpochs(self._directory, self._filesystem, noted, self._report)
        self._certain_epochs = epochs.before if epochs.is_certain else None
        if self._only_copy is not None:
            self._choose_start(self._only_copy)
        if self.checks_all:
            self._checked_epochs = epochs.for_checks(self._base_offsets)
        self._recover_segments(clean_shutdown=clean_shutdown)
        self._look_for_missing_segments()
        end = self._reach(self._find_end())
        self._write_what_waits()
        end = self._go_on_in_begun(end)
        segments = self._open_segments()
        first = segments[0].base_offset
        log_start_offset = self._start_above(first)
        gaps = OffsetGaps()
        if self._only_copy is not None:
            self._only_copy.gaps.settle(self._base_offsets, self._ends, end)
            gaps = self._only_copy.gaps.known
            self._report.holes = list(gaps.within(max(log_start_offset, first), end).holes)
        history = epochs.reconciled(
            self._base_offsets,
            self._epochs,
            self._last_batch,
            start=self._start_of_epochs(log_start_offset, first),
            end=end,
            promised=0 if self._promise is None else self._promise.recovery_point,
            begins_anew=self._started_over,
        )
        begins = [log_start_offset, *(entry.start_offset for entry in history.entries[:1])]
        may_lack = not clean_shutdown or bool(self._report.dropped) or end < self._known_end
        cache = epochs.open(history, end, may_lack=may_lack, is_replicated=self.policy.is_replicated)
        producers = self._load_producers(segments, log_start_offset, end, clean_shutdown=clean_shutdown)
        recovery_point = end if clean_shutdown and not self._started_over else min(self._recovery_point, end)
        self._report.log_end_offset = end
        self._report.seconds = time.perf_counter() - start
        return LoadedLog(
            segments,
            log_start_offset,
            end,
            recovery_point,
            cache,
            producers,
            self._report,
            gaps,
            keeps_beginning=self.has_remote or (self.has_remote is None and min(begins) < first),
            is_followed=self._promise is not None and self._promise.files.is_followed,
        )

    @property
    def _known_end(self) -> int:
        """Up to where the log was flushed by any of its files, though that may have been truncated since."""
        return max(self._recovery_point, 0 if self._promise is None else self._promise.checkpointed)

    def _start_above(self, first: int) -> int:
        """Return where the log starts: below its first segment where remote storage has, or may have, what is between.

        Of a log with remote storage Kafka takes 0 where no start is recorded, and it always records one.
        """
        if self.has_remote or (self.has_remote is None and self._told_start is not None):
            return self._log_start_offset
        return max(self._log_start_offset, first)

    def _start_of_epochs(self, start: int, first: int) -> int:
        """Return where the leader epochs are cut: nowhere as long as remote storage may have those below `first`."""
        return 0 if self.has_remote is None and start <= first else start

    # --- files

    def _finish_what_was_left_over(self) -> None:
        names = self._names()
        left_over = plan_left_overs(names, self._end_of)
        deleted = (name for name in left_over.remove if parse_file_name(name).fate is FileFate.DELETED)
        self._deleting += [name for name in deleted if parse_file_name(name).kind is FileKind.LOG]
        if self._only_copy is not None and not left_over.rename:  # nothing that follows depends on it
            self._waiting += [partial(self._remove_if_there, name) for name in left_over.remove]
            left_over = LeftOvers()
        for name in left_over.remove:
            self._remove(name)
        for name in left_over.rename:
            self._filesystem.rename(self._directory / name, self._directory / name.removesuffix(".swap"))
            self._report.renamed_files.append(name)
        names = self._names() if left_over else names
        for name in orphaned_indexes(names):
            if self._only_copy is None:
                self._remove(name)
            else:  # the log may be missing, and not deleted
                self._waiting.append(partial(self._remove_orphan, name))
        self._begun = sorted(name for name in names if parse_file_name(name).fate is FileFate.BEGUN)
        files = map(parse_file_name, names)
        self._base_offsets = sorted(
            file.base_offset or 0 for file in files if file.kind is FileKind.LOG and file.fate is FileFate.LIVE
        )
        if self._report.removed_files or self._report.renamed_files:
            self._filesystem.fsync_directory(self._directory)

    def _names(self) -> list[str]:
        with os.scandir(self._directory) as entries:
            return [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]

    def _remove(self, name: str) -> None:
        self._filesystem.unlink(self._directory / name)
        self._report.removed_files.append(name)

    def _remove_orphan(self, name: str) -> None:
        if parse_file_name(name).base_offset not in self._base_offsets:
            self._remove_if_there(name)

    def _remove_if_there(self, name: str) -> None:
        if (self._directory / name).exists():
            self._remove(name)

    def _end_of(self, name: str) -> int:
        """Return where the log ends in a file that is no live segment."""
        end = parse_file_name(name).base_offset or 0
        for columns in offline.header_scan.scan_headers(self._directory / name):
            end = int(columns.last_offset[-1]) + 1 if len(columns) else end
        return end

    # --- segments

    def _recover_segments(self, *, clean_shutdown: bool) -> None:
        """Recover the segments that need it; drop those behind the first damage that was not flushed."""
        first = first_unflushed(self._base_offsets, self._recovery_point, clean_shutdown=clean_shutdown)
        flushed, unflushed = self._base_offsets[:first], self._base_offsets[first:]
        if self.checks_all:
            self._recover_in_turn(flushed, producers.unwritten_files.UnwrittenFiles(), unflushed)
        else:
            self._recover_what_seems_damaged(flushed)
        self._look_for_missing_segments()  # before anything is written
        kept = frozenset(self._base_offsets)
        self._recover_in_turn([each for each in unflushed if each in kept], self._filesystem)

    def _recover_what_seems_damaged(self, flushed: Sequence[int]) -> None:
        """Recover those of the flushed segments whose indexes, or whose ends, do not fit."""
        kept = frozenset(self._base_offsets)
        for base_offset in flushed:
            if base_offset not in kept:
                break  # it lay behind damage
            position = sane_position(self._directory, base_offset)
            if position is None:
                self._report.rebuilt_indexes.append(file_name(FileKind.LOG, base_offset))
            if position is None or not self._ends_well(base_offset, position):
                self._recover_in_turn(
                    [base_offset], producers.unwritten_files.UnwrittenFiles(), self._behind(base_offset)
                )
                kept = frozenset(self._base_offsets)

    def _behind(self, base_offset: int) -> Sequence[int]:
        """Return what goes with a flushed segment that is damaged: Kafka looks at none of those behind it."""
        if self._only_copy is None and self.policy is not DamagePolicy.ASIDE:
            return ()
        return self._base_offsets[self._base_offsets.index(base_offset) + 1 :]

    def _ends_well(self, base_offset: int, position: int) -> bool:
        """Whether a flushed segment's batches lead from `position` to its file's end, if anybody has to know."""
        is_last = base_offset == self._base_offsets[-1]
        if self._only_copy is None and (self.chain is None or is_last):
            return True
        try:
            found = end_of_segment(self._directory, base_offset, position)
        except (TornBatchError, InvalidBatchHeaderError):
            return False
        if found is None:
            return True
        end, last = found
        self._ends[base_offset] = end
        if self._only_copy is None:
            return True
        self._last_batch = last or self._last_batch
        if last is not None and self._denies_what_is_certain([(last.epoch, last.base_offset)]):
            return False
        promised = self._promised_in(base_offset)  # no checksum covers the base offset of the last batch
        if is_last:
            return not self._only_copy.was_closed or promised in {None, end}
        return promised is None or (end <= promised and not self._lacks_offsets(base_offset, end))

    def _lacks_offsets(self, base_offset: int, end: int) -> bool:
        """Whether a segment of an only copy that ends there ended later, for all that is known."""
        promised = self._promised_in(base_offset)
        if self._only_copy is None or promised is None or end >= promised:
            return False
        return not self._only_copy.gaps.may_lack(end, promised, base_offset, promised)

    def _promised_in(self, base_offset: int) -> int | None:
        """Return an offset that no batch of a segment lies around: where the next begins, or a flush has ended."""
        if self._only_copy is None:
            return None
        behind = bisect_right(self._base_offsets, base_offset)
        if behind < len(self._base_offsets):
            return self._base_offsets[behind]
        promised = self._only_copy.recovery_point
        if promised is not None and base_offset < promised <= self._log_start_offset:
            return None  # where the log begins may be within a batch
        return promised

    def _recover_in_turn(self, base_offsets: Sequence[int], snapshots: FileSystem, behind: Sequence[int] = ()) -> None:
        """Recover segments that follow one another, split where they must be, and drop those behind damage.

        `snapshots` is what producers' snapshots are written to. Where a flushed segment has lost its indexes alone,
        those behind it stay what they are: Kafka removes them, and may then forget all producers. Those `behind` are
        not recovered, but go where one is cut.
        """
        waiting = list(base_offsets)
        producers = self._producers_at(waiting[0], snapshots) if waiting else self._new_producers()
        while waiting := [each for each in waiting if each in self._base_offsets]:  # others went with damage before
            base_offset, *later = waiting
            left = [each for each in (*later, *behind) if each in self._base_offsets]
            found = self._recover(base_offset, producers, left)
            if found is None:
                producers = self._producers_at(base_offset, snapshots)
            elif found.parts:
                waiting = sorted({*self._split(base_offset, found.parts), *later})
                producers = self._producers_at(base_offset, snapshots)
            else:
                waiting = later if not found.dropped_bytes or self._keeps_later else []
                end = found.next_offset
                if waiting and (end > waiting[0] or self._lacks_offsets(base_offset, end)):  # before more is written
                    self._look_for_missing_segments()
        if self._only_copy is None:
            return
        self._waiting.append(producers.take_place)

    def _recover(self, base_offset: int, producers: ProducerState, later: Sequence[int]) -> SegmentRecovery | None:
        """Recover a segment, unless it must be split; `later` are those that go where it is damaged.

        None where it is to be recovered once more, as batches contradict epochs that are certain: all are checked then.
        """
        self._keeps_later = False
        waiting = len(self._waiting)
        try:
            found = recovery.segment_recovery.recover_segment(
                self._directory,
                base_offset,
                self._config,
                on_producer_batch=producers.replay,
                on_damage=lambda found: self._treat_if_certain(found, later),
                promised=self._promised_in(base_offset),
                is_ordered=self._only_copy is not None,
                may_skip=None if self._only_copy is None else self._only_copy.gaps.may_lack,
                skips=lambda: self._only_copy is not None and self._only_copy.gaps.may_skip(base_offset),
                lacks=lambda end: self._lacks_offsets(base_offset, end),
                epochs=self._order_of_epochs(later),
                put=(lambda put: put()) if self._only_copy is None else self._waiting.append,
                progress=self._progress,
                filesystem=self._filesystem,
            )
        except _EpochsDeniedError:
            self._check_epochs(waiting)
            return None
        if found.parts:
            return found
        if self._denies_what_is_certain(found.epochs):
            self._check_epochs(waiting)
            return None
        producers.end_offset = found.next_offset
        producers.take_snapshot()
        self._ends[base_offset] = found.next_offset
        self._epochs += found.epochs
        self._report.recovered_segments += 1
        self._report.recovered_batches += found.batches
        self._report.recovered_bytes += found.size
        return found

    def _check_epochs(self, waiting: int) -> None:
        """Check all epochs from now on, and do nothing that a segment has added to what waits."""
        self._checked_epochs = self._certain_epochs
        del self._waiting[waiting:]

    def _treat_if_certain(
        self, found: SegmentRecovery, later: Sequence[int]
    ) -> tuple[recovery.segment_split.Part, ...]:
        """Do as `_treat`, unless batches before the damage contradict what is certain: that is looked at first."""
        if self._denies_what_is_certain(found.epochs):
            raise _EpochsDeniedError
        return self._treat(found, later)

    def _denies_what_is_certain(self, epochs: Sequence[tuple[int, int]]) -> bool:
        """Whether batches that were promised are of other epochs than is certain, of which none is checked yet."""
        if self._certain_epochs is None or self._checked_epochs is not None or self._promise is None:
            return False
        promised = self._known_end if self._was_closed else self._promise.recovery_point
        return damages.epoch_order.deny(epochs, self._certain_epochs, self._log_start_offset, promised)

    def _order_of_epochs(self, later: Sequence[int]) -> damages.epoch_order.EpochOrder | None:
        """Return what the leader epochs of a segment, which others follow, have to fit, if they are checked."""
        if self._checked_epochs is None:
            return None
        order = damages.epoch_order
        behind = order.first_epoch(self._directory / file_name(FileKind.LOG, each) for each in later)
        reason = order.WRONG_EPOCH if self._checked_epochs is not self._certain_epochs else order.OLDER_BATCH
        return order.EpochOrder(self._checked_epochs, self._log_start_offset, behind, reason)

    def _split(self, base_offset: int, parts: Sequence[recovery.segment_split.Part]) -> list[int]:
        """Put a segment's parts in its place, without indexes; return their base offsets."""
        recovery.segment_split.write_parts(self._directory, base_offset, parts, self._filesystem)
        self._remove_segment(base_offset)
        self._finish_what_was_left_over()
        if not self._keeps_later:
            self._report.split_segments.append(file_name(FileKind.LOG, base_offset))
        return [part.base_offset for part in parts]

    def _treat(self, found: SegmentRecovery, later: Sequence[int]) -> tuple[recovery.segment_split.Part, ...]:
        """Note a damaged segment, and remove those behind it, unless they stay.

        Returns the parts of it that stay where something stays behind the damage.
        """
        treatment = self._judge(found, later)
        self._write_what_waits()
        self._keeps_later = treatment.keeps_later
        if not treatment.keeps_later:
            self._drop(later, "it follows a damaged segment", sets_aside=treatment.sets_aside)
        end = found.size if treatment.end is None else treatment.end
        if treatment.parts and treatment.parts[-1].end is not None:
            self._take_out(found, treatment.parts[-1].end, found.size, treatment)
        self._take_out(found, found.valid_bytes, end, treatment)
        if treatment.hole is not None and self._only_copy is not None:
            self._only_copy.gaps.add_hole(treatment.hole)
        return treatment.parts

    def _take_out(self, found: SegmentRecovery, start: int, end: int, treatment: Treatment) -> None:
        """Note bytes of a segment that do not stay, and set them aside where they are to be."""
        log = self._directory / file_name(FileKind.LOG, found.base_offset)
        taken = recovery.dropped_batches.dropped_tail(log, start, found.reason, end)
        if treatment.sets_aside:
            taken = replace(taken, set_aside=self._set_aside_bytes(log, start, end, treatment))
        self._report.dropped.insert(0, taken)

    def _judge(self, found: SegmentRecovery, later: Sequence[int]) -> Treatment:
        if self._only_copy is not None:
            return self._only_copy.judge(found, later)
        if self.policy is not DamagePolicy.HELD:
            return damages.treatment.Treatment(is_promised=True, sets_aside=self.policy is DamagePolicy.ASIDE)
        log = self._directory / file_name(FileKind.LOG, found.base_offset)
        sets_aside = damages.held_damage.is_followed(log, found, later)
        # All that was written is there, and was added to by something else since: a log is closed with its end known.
        is_whole = not sets_aside and 0 < found.next_offset == self._recovery_point
        if self._is_promised(found.next_offset) and not is_whole:
            raise damages.held_damage.held_damage(log, found, self._recovery_point)
        return damages.treatment.Treatment(sets_aside=sets_aside)

    def _set_aside_bytes(self, log: Path, start: int, end: int, treatment: Treatment) -> str:
        try:
            return self._aside().keep_bytes(log, start, end)
        except OSError as error:
            if treatment.is_promised or error.errno not in OUT_OF_SPACE:
                raise
            return ""  # nobody was promised it, and a full disk must not keep the log closed

    def _aside(self) -> damages.set_aside.SetAside:
        return damages.set_aside.SetAside(self._directory, self._filesystem)

    def _drop(self, base_offsets: Sequence[int], reason: str, *, sets_aside: bool) -> None:
        """Remove whole segments, the last first, and durably: what follows damage cannot be kept."""
        for base_offset in reversed(base_offsets):
            log = self._directory / file_name(FileKind.LOG, base_offset)
            tail = recovery.dropped_batches.dropped_tail(log, 0, reason)
            if sets_aside and tail.bytes:
                tail = replace(tail, set_aside=self._aside().keep_file(log))
            self._report.dropped.insert(0, tail)
            self._remove_segment(base_offset)
        if base_offsets:
            self._filesystem.fsync_directory(self._directory)

    def _remove_segment(self, base_offset: int) -> None:
        """Remove a segment's files, the log last: indexes without it are removed at the next start."""
        for path in (self._directory / file_name(kind, base_offset) for kind in (*INDEX_KINDS, FileKind.LOG)):
            if path.exists():
                self._filesystem.unlink(path)
        self._base_offsets.remove(base_offset)
        self._ends.pop(base_offset, None)

    def _write_what_waits(self) -> None:
        while self._waiting:
            self._waiting.pop(0)()

    # --- what is missing

    def _look_for_missing_segments(self) -> None:
        """See that a log's segments begin where the log does, and follow one another."""
        if self.chain is not None:
            self._look_for_break(self.chain)
        only_copy = self._only_copy
        if only_copy is None or not self._base_offsets:
            return
        self._look_for_the_first(only_copy, self._base_offsets[0])
        only_copy.gaps.find_lost(self._base_offsets, self._ends)
        for before, following in pairwise(list(self._base_offsets)):
            end = self._ends.get(before, following)
            if end > following:
                what = f"the segment reaches offset {end - 1:,}, beyond where the next one begins"
                only_copy.judge_missing(following, end, what, before)
                is_cut = only_copy.policy is DamagePolicy.CUT
                self._drop(self._behind(before) if is_cut else [following], _WITHIN, sets_aside=True)
                self._look_for_missing_segments()
                return
            if end < following and not only_copy.gaps.may_lack(end, following, before, following):
                what = f"the batches end at offset {end - 1:,}, and the next segment begins at {following:,}"
                what += f": a segment is missing, or this one its end{only_copy.gaps.or_was_compacted()}"
                only_copy.judge_missing(end, following, what, before)
                if only_copy.policy is DamagePolicy.CUT:
                    self._drop(self._behind(before), "it follows a missing segment", sets_aside=True)
                    return
                only_copy.gaps.add_hole(Hole(end, following))

    def _look_for_break(self, chain: damages.segment_chain.SegmentChain) -> None:
        """End a replicated log where its segments break off, if nobody was promised the rest."""
        start = self._recorded_start() if self._base_offsets else 0
        found = chain.find_break(self._base_offsets, self._ends, start)
        if found is None:
            return
        if self.policy is DamagePolicy.HELD and self._is_promised(found.offset):
            raise found.error(self._directory)
        self._drop([each for each in self._base_offsets if each >= found.cut_from], found.what, sets_aside=True)
        if not self._base_offsets:
            self._log_start_offset = max(self._log_start_offset, found.offset)
            self._epochs = []

    def _recorded_start(self) -> int:
        """Return where the log began by its small files; where its first segment does if they do not say.

        After a crash more may have been deleted than the checkpoint knows. Such segments are renamed first, and removed
        when the epochs have long been written.
        """
        epochs, first = self._report.epochs_before, self._base_offsets[0]
        checkpointed = self._log_start_offset if self._was_closed else 0
        is_deleting = self._deleting and not self._was_closed
        if self._only_copy is not None:
            is_deleting = is_deleting and self._deletes_up_to(first)
        if self.has_remote or is_deleting or not (epochs or checkpointed):
            return first
        return max(checkpointed, epochs[0].start_offset if epochs else 0)

    def _is_promised(self, offset: int) -> bool:
        """Whether a record of a log that others have copies of was on stable storage."""
        return self._was_closed or offset < self._recovery_point

    def _choose_start(self, only_copy: OnlyCopy) -> None:
        """Use the checkpoint files' later start, unless nothing else confirms it: a bit may have flipped there."""
        promise = self._promise
        if promise is None or not self._base_offsets:
            return
        start = promise.doubted_start(self._base_offsets[0], EpochHistory(self._report.epochs_before))
        if start is None:
            return
        only_copy.judge_start(start, promise.log_start_offset)
        self._promise = promise._replace(log_start_offset=promise.noted_start)
        self._log_start_offset = promise.noted_start

    def _look_for_the_first(self, only_copy: OnlyCopy, first: int) -> None:
        start = self._known_start(first) if self._misses_first else first
        if start >= first:
            return
        only_copy.judge_missing(start, first, "the first segment is missing", start)
        self._misses_first = False
        if only_copy.policy is DamagePolicy.HOLE:
            only_copy.gaps.add_hole(Hole(start, first))
            self._begin_file(start)
        else:
            self._note_missing(start, first, "the first segment is missing")

    def _known_start(self, first: int) -> int:
        """Return where an only copy began by its own word, or by its small files; `first` where they do not say.

        A broker that had it since has deleted segments without that word, and either has written where the epochs begin
        by now, or was at it.
        """
        promised = UNKNOWN_START if self._promise is None else self._promise.log_start_offset
        if promised == UNKNOWN_START:
            is_known = self._was_closed or self._promise is None
            return self._recorded_start() if is_known and self._has_no_remote() else first
        if not self.is_in_root:
            return promised
        epochs = self._report.epochs_before
        return first if self._deletes_up_to(first) else max(promised, epochs[0].start_offset if epochs else 0)

    def _deletes_up_to(self, first: int) -> bool:
        """Whether the segment just before the first one is being deleted. It is there yet: its name has changed.

        So has that of what a truncation took away, which shows nothing: it began at the recovery point or below.
        """
        cut = -1 if self._promise is None else self._promise.taken_back or -1
        before = (name for name in self._deleting if cut < (parse_file_name(name).base_offset or 0) < first)
        return any(self._end_of(name) == first for name in before if (self._directory / name).exists())

    def _has_no_remote(self) -> bool:
        """Whether remote storage has nothing of the log: a broker records where each log begins of which it has."""
        return self.has_remote is False or (self.has_remote is None and self._told_start is None)

    def _reach(self, end: int) -> int:
        """See that the log reaches up to where it was flushed; return where it ends."""
        only_copy = self._only_copy
        if only_copy is None:
            return end
        promised = self._recovery_point if only_copy.recovery_point is None else only_copy.recovery_point
        if end >= promised and (self._base_offsets or self._started_over or not promised):
            return end
        if end >= promised:  # all that is known of was deleted, and perhaps more was written
            what = f"the log has no segment any more, which began at offset {end:,} or before"
            only_copy.judge_missing(end, end, what, end)
            self._note_missing(end, end, what)
            return end
        what = f"the log ends at offset {end:,}, before its recovery point {promised:,}"
        if only_copy.policy is DamagePolicy.CUT and self._report.dropped:
            return end
        only_copy.judge_missing(end, promised, what, self._base_offsets[-1] if self._base_offsets else end)
        if only_copy.policy is DamagePolicy.CUT:
            self._note_missing(end, promised, what)
            return end
        only_copy.gaps.add_hole(Hole(end, promised))
        if not self._base_offsets:
            self._begin_file(end)  # where readers begin, and are told
        self._begin_file(promised)
        return promised

    def _begin_file(self, base_offset: int) -> None:
        """Make an empty segment; indexes of that name belonged to the one that is missing."""
        self._write_what_waits()
        path = self._directory / file_name(FileKind.LOG, base_offset)
        self._filesystem.close(self._filesystem.open(path))
        self._filesystem.fsync_directory(self._directory)
        self._base_offsets = sorted({*self._base_offsets, base_offset})

    def _note_missing(self, start: int, end: int, what: str) -> None:
        tail = recovery.dropped_tail.DroppedTail(file_name(FileKind.LOG, start), 0, 0, what, None, end)
        self._report.dropped.append(tail)

    # --- the log's end

    def _find_end(self) -> int:
        """Find the offset after the last batch; drop everything where that lies before the log's start."""
        end = self._next_offset_of_last() if self._base_offsets else -1
        if end < self._log_start_offset:
            if self._only_copy is not None and self._base_offsets:
                self._only_copy.judge_end(end, self._log_start_offset, self._base_offsets[0])
                self._write_what_waits()
            # Files were lost, or nothing was ever written. Kafka starts over at the checkpointed start too.
            self._drop_everything()
            return self._log_start_offset
        return end

    def _next_offset_of_last(self) -> int:
        base_offset = self._base_offsets[-1]
        if self._only_copy is not None and base_offset in self._ends:
            return self._ends[base_offset]
        try:
            return self._next_offset(base_offset, last_indexed_position(self._directory, base_offset))
        except (TornBatchError, InvalidBatchHeaderError, CorruptRecordError):
            # Said to be closed in order, and is not: what an append would add here, nobody could read.
            self._recover_in_turn([base_offset], self._filesystem)
            self._look_for_missing_segments()
            return self._ends[self._base_offsets[-1]]

    def _next_offset(self, base_offset: int, position: int) -> int:
        """Walk over the last segment's headers from where a batch begins (Kafka: readNextOffset)."""
        end = base_offset
        with offline.log_file.LogFile.open(self._directory / file_name(FileKind.LOG, base_offset)) as log:
            for batch in log.batches(min(position, log.size)):
                end = batch.last_offset + 1
                self._last_batch = LastBatch(batch.base_offset, batch.leader_epoch)
        return end

    def _go_on_in_begun(self, end: int) -> int:
        """Give a segment its name that was begun where the log ends, and drop others; return where the log ends.

        The death of a process leaves what it follows; power loss may have taken that, and then there is a hole.
        """
        for name in self._begun:
            base_offset = parse_file_name(name).base_offset or 0
            if base_offset == end and self._base_offsets and not self._was_closed:
                self._show(name)
                self._recover_in_turn([base_offset], self._filesystem)
                self._write_what_waits()
                end = self._ends[self._base_offsets[-1]]
            else:
                self._drop_begun(self._directory / name, f"it follows records that are lost, from offset {end:,} on")
        return end

    def _show(self, begun: str) -> None:
        """Give a segment its name once what it follows is on stable storage."""
        *_, last = self._base_offsets
        descriptor = self._filesystem.open(self._directory / file_name(FileKind.LOG, last))
        try:
            self._filesystem.fsync(descriptor)
        finally:
            self._filesystem.close(descriptor)
        self._filesystem.fsync_directory(self._directory)
        shown = begun.removesuffix(f".{FileFate.BEGUN}")
        self._filesystem.rename(self._directory / begun, self._directory / shown)
        self._report.renamed_files.append(begun)
        self._base_offsets.append(parse_file_name(shown).base_offset or 0)

    def _drop_begun(self, path: Path, reason: str) -> None:
        tail = recovery.dropped_batches.dropped_tail(path, 0, reason)
        if tail.bytes and self.policy.keeps_promises:
            tail = replace(tail, set_aside=self._aside().keep_file(path))
        else:
            self._remove(path.name)
        if tail.bytes:
            self._report.dropped.append(tail)
        self._filesystem.fsync_directory(self._directory)

    def _open_segments(self) -> list[LiveSegment]:
        """Load what is left, or begin a segment where nothing is."""
        if self._base_offsets:
            segments = [self._begin_segment(LiveSegment.load, base_offset) for base_offset in self._base_offsets]
            segments[-1].file.was_cut = not self._was_closed
            return segments
        segment = self._begin_segment(LiveSegment.create, self._log_start_offset)
        segment.file.was_cut = self._started_over
        return [segment]

    def _begin_segment(self, begin: Callable[..., LiveSegment], base_offset: int) -> LiveSegment:
        segment = begin(
            self._directory,
            base_offset,
            self._config,
            self._filesystem,
            created_ms=self._clock(),
            open_files=self._open_files,
        )
        self._opened.append(segment)
        return segment

    def _drop_everything(self) -> None:
        for base_offset in list(self._base_offsets):
            log = self._directory / file_name(FileKind.LOG, base_offset)
            reason = f"the log ends before its checkpointed start {self._log_start_offset:,}"
            tail = recovery.dropped_batches.dropped_tail(log, 0, reason)
            if self._only_copy is not None and tail.bytes:
                tail = replace(tail, set_aside=self._aside().keep_file(log))
            self._report.dropped.append(tail)
            self._remove_segment(base_offset)
            self._started_over = True
        self._epochs = []

    # --- producers

    def _new_producers(self, filesystem: FileSystem | None = None) -> ProducerState:
        expiration_ms = self._config.producer_id_expiration_ms
        return ProducerState(self._directory, filesystem=filesystem or self._filesystem, expiration_ms=expiration_ms)

    def _producers_at(self, offset: int, snapshots: FileSystem) -> ProducerState:
        """Bring the producers' state up to `offset`, from the latest snapshot and the segments after it."""
        producers = self._new_producers(snapshots)
        if self._only_copy is not None:
            producers = producers.successor()  # which writes nothing yet
        segments = self._open_segments()
        self._rebuild(producers, segments, offset, self._log_start_offset)
        for segment in segments:
            segment.abandon()
        return producers

    def _load_producers(
        self, segments: list[LiveSegment], log_start_offset: int, end: int, *, clean_shutdown: bool
    ) -> ProducerState:
        producers = self._new_producers()
        producers.remove_stray_snapshots([segment.base_offset for segment in segments])
        if clean_shutdown and producers.latest_snapshot_offset is None:
            # Nothing was ever written by an idempotent producer, or an older broker stopped: no need to read the log.
            for offset in (*(segment.base_offset for segment in segments[-2:]), end):
                producers.end_offset = offset
                producers.take_snapshot()
        else:
            self._rebuild(producers, segments, end, log_start_offset)
        return producers

    def _rebuild(self, producers: ProducerState, segments: list[LiveSegment], end: int, log_start_offset: int) -> None:
        rebuild_producers(
            producers,
            SegmentList(segments),
            log_start_offset=log_start_offset,
            log_end_offset=end,
            now_ms=self.expiry_clock(),
        )
