"""Open a partition directory as a log, and recover it where it was not closed cleanly (Kafka: LogLoader).

In order: files that deletion or compaction left half-way are removed or put in place; segments without usable indexes
are recovered; after an unclean stop so are all segments from the recovery point on, and the log ends at the first
batch that is torn or damaged; the leader epochs are made to agree with what is left; the producers' state is read from
its latest snapshot and brought up to the log's end.

Every step may be cut off by another crash: what was done is found done the next time, and nothing is marked as
recovered (the recovery point does not move).
"""

import os
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from epoch.cache import LeaderEpochFileCache
from epoch.checkpoint import LEADER_EPOCH_CHECKPOINT, LeaderEpochCheckpoint
from epoch.entry import EpochEntry
from epoch.errors import CheckpointError
from epoch.filesystem import REAL, FileSystem
from epoch.history import EpochHistory
from epoch.resource_limits import OUT_OF_SPACE, ignoring_full_disk
from logstore.base_offsets import first_unflushed
from logstore.clock import now_ms
from logstore.errors import CorruptMetadataError, CorruptRecordError, InvalidBatchHeaderError, TornBatchError
from logstore.file_name import INDEX_KINDS, FileFate, FileKind, file_name, parse_file_name
from logstore.files.only_copy.offset_gaps import Hole, OffsetGaps
from logstore.files.only_copy.promised_offsets import UNKNOWN_START, Promise
from logstore.indexes.index_sanity import last_indexed_position, sane_position
from logstore.log_config import LogConfig
from logstore.offline.header_scan import scan_headers
from logstore.offline.log_file import LogFile
from logstore.producers.producer_replay import rebuild_producers
from logstore.producers.producer_state import ProducerState
from logstore.producers.unwritten_files import UnwrittenFiles
from logstore.recovery.damage.held_damage import held_damage, is_followed
from logstore.recovery.damage.only_copy import OnlyCopy, Treatment
from logstore.recovery.damage.segment_chain import SegmentChain
from logstore.recovery.damage.set_aside import SetAside
from logstore.recovery.damage_policy import DamagePolicy
from logstore.recovery.dropped_batches import dropped_tail
from logstore.recovery.left_over_files import LeftOvers, orphaned_indexes, plan_left_overs
from logstore.recovery.next_epoch import next_epoch
from logstore.recovery.recovery_report import DroppedTail, RecoveryReport
from logstore.recovery.segment_ends import LastBatch, end_of_segment, skips_offsets
from logstore.recovery.segment_recovery import recover_segment
from logstore.recovery.segment_split import Part, write_parts
from logstore.recovery.segment_walk import OnBytes, SegmentRecovery
from logstore.segment.live_segment import LiveSegment
from logstore.segment.open_files import OpenFiles
from logstore.segment.segment_list import SegmentList


@dataclass(frozen=True, slots=True)
class LoadedLog:
    """A log that is ready to be read and written (Kafka: LoadedLogOffsets)."""

    segments: list[LiveSegment]
    """By base offset; at least one. The last is the active one."""
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    epochs: LeaderEpochFileCache
    producers: ProducerState
    report: RecoveryReport
    gaps: OffsetGaps = field(default_factory=OffsetGaps)
    keeps_beginning: bool = False
    """Whether remote storage has, or may have, what start and leader epochs say lies below the first segment."""


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
    filesystem: FileSystem = REAL,
    clock: Callable[[], int] = now_ms,
    expiry_clock: Callable[[], int] | None = None,
    open_files: OpenFiles | None = None,
    progress: OnBytes = lambda _: None,
) -> LoadedLog:
    """Open the log of a partition directory.

    `log_start_offset`, `recovery_point` and `cleaner_offset` are what the root's checkpoints say, if they do;
    `clean_shutdown` tells whether the log was closed in order, so that nothing needs recovery, and `was_compacted`
    whether a cleaner may have been over it, whatever its topic's configuration is now; `has_remote` whether remote
    storage has its beginning, None where nobody says it. `damage` says what becomes of
    records that are lost below what `promise` tells, if that is known; of a log that is the only copy the next leader
    epoch is reserved where it may lack what readers have seen. `clock` gives milliseconds since 1970 UTC, and
    `expiry_clock` the time by which producers are too old, by default the same. `open_files` bounds the segments'
    descriptors and mappings. `progress` is called with the number of bytes that were recovered since.

    Raises OSError, SegmentTooLargeError, and DamagedLogError.
    """
    loader = _Loader(directory, config, log_start_offset, recovery_point, filesystem, clock, open_files, progress)
    loader.expiry_clock = expiry_clock or clock
    loader.policy = damage
    loader.has_remote = has_remote
    if not damage.is_replicated:
        loader.guard(damage, promise, cleaner_offset, was_closed=clean_shutdown)
    elif damage.keeps_promises:
        # The leader is asked about what is missing before anything is cut, at the beginning, too.
        loader.has_remote = bool(has_remote)
        loader.chain = SegmentChain(directory, is_compacted=was_compacted or config.is_compacted)
    return loader.load(clean_shutdown=clean_shutdown)


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
        self._only_copy: OnlyCopy | None = None
        self.chain: SegmentChain | None = None
        """Of a log that others have copies of, where it is not to end as Kafka's."""
        self._gaps = OffsetGaps()
        self._cleaner_offset: int | None = None
        self._keeps_later = False
        """Whether the segments behind the one that was damaged last stay."""
        self._begins_at: int | None = None
        """Where the log is known to begin."""
        self._set_aside = SetAside(directory, filesystem)
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
        recovery_point = None if promise is None else promise.recovery_point
        self._begins_at = None if promise is None else promise.log_start_offset
        self._only_copy = OnlyCopy(self._directory, policy, recovery_point, was_closed)
        self._cleaner_offset = cleaner_offset
        self._report.is_only_copy = True

    def load(self, *, clean_shutdown: bool) -> LoadedLog:
        """Take all steps; where they do not come to their end, no segment stays open."""
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
        checkpoint, history = self._read_epochs()
        if self._only_copy is not None:
            self._gaps = self._read_gaps()
        self._recover_segments(clean_shutdown=clean_shutdown)
        self._look_for_missing_segments()
        end = self._reach(self._find_end())
        self._write_what_waits()
        segments = self._open_segments()
        first = segments[0].base_offset
        log_start_offset = self._start_above(first)
        self._settle_gaps(end)
        self._report.holes = list(self._gaps.within(max(log_start_offset, first), end).holes)
        history = self._reconciled(history, self._start_of_epochs(log_start_offset, first), end)
        begins = [log_start_offset, *(entry.start_offset for entry in history.entries[:1])]
        epochs = self._open_epochs(checkpoint, history, end, clean_shutdown=clean_shutdown)
        producers = self._load_producers(segments, log_start_offset, end, clean_shutdown=clean_shutdown)
        recovery_point = end if clean_shutdown and not self._started_over else min(self._recovery_point, end)
        self._report.log_end_offset = end
        self._report.seconds = time.perf_counter() - start
        return LoadedLog(
            segments,
            log_start_offset,
            end,
            recovery_point,
            epochs,
            producers,
            self._report,
            self._gaps,
            keeps_beginning=self.has_remote or (self.has_remote is None and min(begins) < first),
        )

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

    def _read_gaps(self) -> OffsetGaps:
        try:
            return OffsetGaps.read(self._directory)
        except CorruptMetadataError as error:
            self._report.damaged_offset_gaps = str(error)
            return OffsetGaps()

    # --- files

    def _finish_what_was_left_over(self) -> None:
        names = self._names()
        left_over = plan_left_overs(names, self._end_of_swap)
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

    def _end_of_swap(self, name: str) -> int:
        """Tell where the log in a `.log.swap` file ends."""
        end = parse_file_name(name).base_offset or 0
        for columns in scan_headers(self._directory / name):
            end = int(columns.last_offset[-1]) + 1 if len(columns) else end
        return end

    # --- segments

    def _recover_segments(self, *, clean_shutdown: bool) -> None:
        """Recover the segments that need it; drop those behind the first damage that was not flushed."""
        first = first_unflushed(self._base_offsets, self._recovery_point, clean_shutdown=clean_shutdown)
        flushed, unflushed = self._base_offsets[:first], self._base_offsets[first:]
        kept = frozenset(self._base_offsets)
        for base_offset in flushed:
            if base_offset not in kept:
                break  # it lay behind damage
            position = sane_position(self._directory, base_offset)
            if position is None:
                self._report.rebuilt_indexes.append(file_name(FileKind.LOG, base_offset))
            if position is None or not self._ends_well(base_offset, position):
                self._recover_in_turn([base_offset], UnwrittenFiles(), self._behind(base_offset))
                kept = frozenset(self._base_offsets)
        self._look_for_missing_segments()  # before anything is written
        kept = frozenset(self._base_offsets)
        self._recover_in_turn([each for each in unflushed if each in kept], self._filesystem)

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
        promised = self._promised_in(base_offset)  # no checksum covers the base offset of the last batch
        if is_last:
            return not self._only_copy.was_closed or promised in {None, end}
        return promised in {None, end} or (end < promised and self._may_lack(end, promised, base_offset, promised))

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
        while waiting:
            base_offset, *later = waiting
            found = self._recover(base_offset, producers, [*later, *behind])
            if found.parts:
                waiting = sorted({*self._split(base_offset, found.parts), *later})
                producers = self._producers_at(base_offset, snapshots)
            else:
                waiting = later if not found.dropped_bytes or self._keeps_later else []
        if self._only_copy is None:
            return
        self._waiting.append(producers.take_place)

    def _recover(self, base_offset: int, producers: ProducerState, later: Sequence[int]) -> SegmentRecovery:
        """Recover a segment, unless it must be split; `later` are those that go where it is damaged."""
        self._keeps_later = False
        found = recover_segment(
            self._directory,
            base_offset,
            self._config,
            on_producer_batch=producers.replay,
            on_damage=lambda found: self._treat(found, later),
            promised=self._promised_in(base_offset),
            is_ordered=self._only_copy is not None,
            may_skip=self._may_lack if self._only_copy is not None else None,
            put=(lambda put: put()) if self._only_copy is None else self._waiting.append,
            progress=self._progress,
            filesystem=self._filesystem,
        )
        if found.parts:
            return found
        producers.end_offset = found.next_offset
        producers.take_snapshot()
        self._ends[base_offset] = found.next_offset
        self._epochs += found.epochs
        self._report.recovered_segments += 1
        self._report.recovered_batches += found.batches
        self._report.recovered_bytes += found.size
        return found

    def _split(self, base_offset: int, parts: Sequence[Part]) -> list[int]:
        """Put a segment's parts in its place, without indexes; return their base offsets."""
        write_parts(self._directory, base_offset, parts, self._filesystem)
        self._remove_segment(base_offset)
        self._finish_what_was_left_over()
        if not self._keeps_later:
            self._report.split_segments.append(file_name(FileKind.LOG, base_offset))
        return [part.base_offset for part in parts]

    def _treat(self, found: SegmentRecovery, later: Sequence[int]) -> tuple[Part, ...]:
        """Take note of a segment that is damaged, and remove those behind it, unless they stay.

        Returns the parts of it that stay where something stays behind the damage.
        """
        treatment = self._judge(found, later)
        self._write_what_waits()
        self._keeps_later = treatment.keeps_later
        if not treatment.keeps_later:
            self._drop(later, "it follows a damaged segment", sets_aside=treatment.sets_aside)
        log = self._directory / file_name(FileKind.LOG, found.base_offset)
        end = found.size if treatment.end is None else treatment.end
        tail = dropped_tail(log, found.valid_bytes, found.reason, end)
        if treatment.sets_aside:
            tail = replace(tail, set_aside=self._set_aside_bytes(log, found.valid_bytes, end, treatment))
        self._report.dropped.insert(0, tail)
        if treatment.hole is not None:
            self._add_hole(treatment.hole)
        return treatment.parts

    def _judge(self, found: SegmentRecovery, later: Sequence[int]) -> Treatment:
        if self._only_copy is not None:
            return self._only_copy.judge(found, later)
        if self.policy is not DamagePolicy.HELD:
            return Treatment(is_promised=True, sets_aside=self.policy is DamagePolicy.ASIDE)
        log = self._directory / file_name(FileKind.LOG, found.base_offset)
        sets_aside = is_followed(log, found, later)
        # All that was written is there, and was added to by something else since: a log is closed with its end known.
        is_whole = not sets_aside and 0 < found.next_offset == self._recovery_point
        if self._is_promised(found.next_offset) and not is_whole:
            raise held_damage(log, found, self._recovery_point)
        return Treatment(sets_aside=sets_aside)

    def _set_aside_bytes(self, log: Path, start: int, end: int, treatment: Treatment) -> str:
        try:
            return self._set_aside.keep_bytes(log, start, end)
        except OSError as error:
            if treatment.is_promised or error.errno not in OUT_OF_SPACE:
                raise
            return ""  # nobody was promised it, and a full disk must not keep the log closed

    def _drop(self, base_offsets: Sequence[int], reason: str, *, sets_aside: bool) -> None:
        """Remove whole segments, the last first, and durably: what follows damage cannot be kept."""
        for base_offset in reversed(base_offsets):
            log = self._directory / file_name(FileKind.LOG, base_offset)
            tail = dropped_tail(log, 0, reason)
            if sets_aside and tail.bytes:
                tail = replace(tail, set_aside=self._set_aside.keep_file(log))
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

    def _add_hole(self, hole: Hole) -> None:
        """Let it be known durably, before anything is changed: without it a segment would seem to be missing."""
        if hole.start_offset < hole.end_offset:
            self._gaps = self._gaps.with_hole(hole).write(self._directory, self._filesystem)

    def _write_what_waits(self) -> None:
        while self._waiting:
            self._waiting.pop(0)()

    # --- what is missing

    def _look_for_missing_segments(self) -> None:
        """See that a log's segments begin where the log does, and follow one another."""
        if self.chain is not None:
            self._look_for_break(self.chain)
        if self._only_copy is None or not self._base_offsets:
            return
        self._look_for_the_first(self._only_copy, self._base_offsets[0])
        for before, following in pairwise(list(self._base_offsets)):
            end = self._ends.get(before, following)
            if end > following:
                what = f"the segment reaches offset {end - 1:,}, beyond where the next one begins"
                self._only_copy.judge_missing(following, end, what, before)
            elif end < following and not self._may_lack(end, following, before, following):
                what = f"the segment of {end:,} is missing"
                self._only_copy.judge_missing(end, following, what, end)
                if self._only_copy.policy is DamagePolicy.CUT:
                    self._drop(self._behind(before), "it follows a missing segment", sets_aside=True)
                    return
                self._add_hole(Hole(end, following))

    def _look_for_break(self, chain: SegmentChain) -> None:
        """Let a log that others have copies of end where its segments break off, once nobody was promised the rest."""
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
        epochs = self._report.epochs_before
        names = map(parse_file_name, self._report.removed_files)
        deletes = any(name.kind is FileKind.LOG and name.fate is FileFate.DELETED for name in names)
        checkpointed = self._log_start_offset if self._was_closed else 0
        if self.has_remote or (not self._was_closed and deletes) or not (epochs or checkpointed):
            return self._base_offsets[0]
        return max(checkpointed, epochs[0].start_offset if epochs else 0)

    def _is_promised(self, offset: int) -> bool:
        """Whether a record of a log that others have copies of was on stable storage."""
        return self._was_closed or offset < self._recovery_point

    def _look_for_the_first(self, only_copy: OnlyCopy, first: int) -> None:
        start = self._begins_at
        if start in {None, UNKNOWN_START} and self._was_closed and self.has_remote is False:
            start = self._recorded_start()  # by what is written as the log is closed
        if start is None or not 0 <= start < first:
            return
        only_copy.judge_missing(start, first, "the first segment is missing", start)
        self._begins_at = None
        if only_copy.policy is DamagePolicy.HOLE:
            self._add_hole(Hole(start, first))
            self._begin_file(start)
        else:
            self._note_missing(start, first, "the first segment is missing")

    def _may_lack(self, start: int, end: int, *neighbours: int) -> bool:
        """Whether a cleaner may have left a log without these offsets, between the segments that are its `neighbours`.

        As an only copy the log has noted each such gap before it was made. Who replicates it notes none: then all that
        tells of compaction counts, by a cleaner that was interrupted, too, or by that of the leader.
        """
        if self._gaps.covers(start, end):
            return True
        if self._only_copy is not None and self._only_copy.recovery_point is not None:
            return not self._gaps.is_kept and end <= (self._cleaner_offset or 0)
        if self._cleaner_offset is not None or self._config.is_compacted:
            return True
        return any(skips_offsets(self._directory / file_name(FileKind.LOG, each)) for each in neighbours)

    def _settle_gaps(self, end: int) -> None:
        """Note durably what was found to be missing between segments, and forget what is not missing any more."""
        if self._only_copy is None:
            return
        ends = ((self._ends.get(before, following), following) for before, following in pairwise(self._base_offsets))
        known, first = self._gaps, self._base_offsets[0] if self._base_offsets else end
        self._gaps = known.between(Hole(*gap) for gap in ends if gap[0] < gap[1]).within(first, end)
        if self._gaps != known or (self._cleaner_offset is not None and not known.is_kept):
            with ignoring_full_disk():
                self._gaps = self._gaps.write(self._directory, self._filesystem)

    def _reach(self, end: int) -> int:
        """See that the log reaches up to where it was flushed; return where it ends."""
        only_copy = self._only_copy
        if only_copy is None:
            return end
        promised = only_copy.recovery_point
        if promised is None:
            promised = self._checkpointed_end()
        if end >= promised:
            return end
        what = f"the log ends at offset {end:,}, before its recovery point {promised:,}"
        if only_copy.policy is DamagePolicy.CUT and self._report.dropped:
            return end
        only_copy.judge_missing(end, promised, what, self._base_offsets[-1] if self._base_offsets else end)
        if only_copy.policy is DamagePolicy.CUT:
            self._note_missing(end, promised, what)
            return end
        self._add_hole(Hole(end, promised))
        if not self._base_offsets:
            self._begin_file(end)  # where readers begin, and are told
        self._begin_file(promised)
        return promised

    def _checkpointed_end(self) -> int:
        """Return up to where a log was flushed that has no word of its own on it, as far as its checkpoint is sure.

        A crash in a truncation may leave a recovery point in the checkpoint that is too high.
        """
        return self._recovery_point if self._was_closed or not self._base_offsets else 0

    def _begin_file(self, base_offset: int) -> None:
        """Make an empty segment; indexes of that name belonged to the one that is missing."""
        self._write_what_waits()
        path = self._directory / file_name(FileKind.LOG, base_offset)
        self._filesystem.close(self._filesystem.open(path))
        self._filesystem.fsync_directory(self._directory)
        self._base_offsets = sorted({*self._base_offsets, base_offset})

    def _note_missing(self, start: int, end: int, what: str) -> None:
        self._report.dropped.append(DroppedTail(file_name(FileKind.LOG, start), 0, 0, what, None, end))

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
        with LogFile.open(self._directory / file_name(FileKind.LOG, base_offset)) as log:
            for batch in log.batches(min(position, log.size)):
                end = batch.last_offset + 1
                self._last_batch = LastBatch(batch.base_offset, batch.leader_epoch)
        return end

    def _open_segments(self) -> list[LiveSegment]:
        """Load what is left, or begin a segment where nothing is."""
        if self._base_offsets:
            return [self._begin_segment(LiveSegment.load, base_offset) for base_offset in self._base_offsets]
        return [self._begin_segment(LiveSegment.create, self._log_start_offset)]

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
            tail = dropped_tail(log, 0, reason)
            if self._only_copy is not None and tail.bytes:
                tail = replace(tail, set_aside=self._set_aside.keep_file(log))
            self._report.dropped.append(tail)
            self._remove_segment(base_offset)
            self._started_over = True
        self._epochs = []

    # --- leader epochs

    def _read_epochs(self) -> tuple[LeaderEpochCheckpoint, EpochHistory]:
        """Read the checkpoint; one that cannot be read is rebuilt from all batches (Kafka refuses to start)."""
        checkpoint = LeaderEpochCheckpoint(self._directory, self._filesystem)
        try:
            self._report.epochs_before = checkpoint.read()
        except CheckpointError as error:
            self._report.damaged_epoch_checkpoint = str(error)
            return checkpoint, EpochHistory()
        return checkpoint, EpochHistory(self._report.epochs_before)

    def _reconciled(self, history: EpochHistory, start: int, end: int) -> EpochHistory:
        if self._started_over:
            history = EpochHistory()
        contradiction = self._contradiction(history)
        if self._report.damaged_epoch_checkpoint or contradiction:
            self._epochs = self._epochs_of_all_batches()
        before = history.truncate_to(end).truncate_from_start(start)
        reconciled = history.reconcile(self._epochs, log_start_offset=start, log_end_offset=end)
        if contradiction and reconciled != before:  # else the others agree with it, and that batch is damaged
            self._report.damaged_epoch_checkpoint = contradiction
        return reconciled

    def _open_epochs(
        self, checkpoint: LeaderEpochCheckpoint, history: EpochHistory, end: int, *, clean_shutdown: bool
    ) -> LeaderEpochFileCache:
        """Bring the checkpoint up to date; an epoch that is only reserved is written before its first batch is."""
        report, before = self._report, self._report.epochs_before
        cache = LeaderEpochFileCache(history, checkpoint)
        after = history.entries
        may_lack = not clean_shutdown or bool(report.dropped) or end < self._recovery_point
        epoch = next_epoch(before, history, may_lack=may_lack) if not self.policy.is_replicated else None
        if epoch is not None:
            reserved = EpochEntry(epoch, end)
            cache.reserve(reserved)
            if before == [*after, reserved]:
                after = before
        report.epochs_after = after
        if after != before or report.damaged_epoch_checkpoint:
            with ignoring_full_disk():  # it is written before the next batch is, or found as it was by the next start
                cache.rewrite()
        return cache

    def _contradiction(self, history: EpochHistory) -> str:
        """Say what is wrong with a history by which the last batch was written in an epoch that no batch has.

        A replica with such a history says that it has what no leader has written. Where batches have that epoch, and
        later ones an earlier epoch, Kafka's history is the same.
        """
        last = self._last_batch
        claimed = None if last is None else history.epoch_for_offset(last.base_offset)
        if last is None or claimed is None or not 0 <= last.epoch < claimed:
            return ""
        if self._wrote(claimed, history):
            return ""
        path = self._directory / LEADER_EPOCH_CHECKPOINT
        return f"{path}: epoch {claimed} wrote offset {last.base_offset:,}, and the batch there has epoch {last.epoch}"

    def _wrote(self, epoch: int, history: EpochHistory) -> bool:
        """Whether any batch is of an epoch of the history: mostly the one where it begins is."""
        entry = history.entry_for(epoch)
        first = 0 if entry is None else max(bisect_right(self._base_offsets, entry.start_offset) - 1, 0)
        paths = (self._directory / file_name(FileKind.LOG, each) for each in self._base_offsets[first:])
        return any((columns.leader_epoch == epoch).any() for path in paths for columns in scan_headers(path))

    def _epochs_of_all_batches(self) -> list[tuple[int, int]]:
        epochs: list[tuple[int, int]] = []
        for base_offset in self._base_offsets:
            for columns in scan_headers(self._directory / file_name(FileKind.LOG, base_offset)):
                epochs += zip(columns.leader_epoch.tolist(), columns.base_offset.tolist(), strict=True)
        return epochs

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
