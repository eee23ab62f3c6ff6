"""Compacts a log: lets each key have one record, in segments that take the place of others (Kafka: LogCleaner)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from logstore.compaction.batch_cleaner import BatchCleaner, LastBatch
from logstore.compaction.cleaned_segment import CleanedSegment
from logstore.compaction.compaction_report import CompactionReport
from logstore.compaction.dirty_section import DirtySection
from logstore.compaction.offset_map import BYTES_PER_KEY
from logstore.compaction.seen_transactions import SeenTransactions
from logstore.compaction.segment_groups import Group, group_segments
from logstore.errors import CompactionAbortedError, DamagedLogError
from logstore.file_name import FileFate
from logstore.log.deleted_segments import DeletedSegments
from logstore.log.flusher import Flusher
from logstore.log.state.compaction_turn import CompactionTurn
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment
from logstore.log.state.log_guard import ADDING, LogGuard
from logstore.log_config import LogConfig
from logstore.segment.live_segment import LiveSegment
from logstore.segment.segment_list import SegmentList, aborted_within

T = TypeVar("T")


@dataclass(slots=True)
class _Round:
    """One compaction under way."""

    config: LogConfig
    section: DirtySection
    closings: int
    """How often somebody had wanted to close the log before it: see `CompactionTurn.closings`."""
    changes: int
    """What had been taken away from the log until then: see `LogContents.changes`."""
    report: CompactionReport


class Compaction:
    """Reads and writes beside appends and reads, without the log's lock; only to put a segment in place it is held.

    Whatever is taken away from the log meanwhile ends the compaction, as does who closes it. What is in place by then
    stays there.
    """

    def __init__(
        self,
        environment: LogEnvironment,
        contents: LogContents,
        guard: LogGuard,
        flusher: Flusher,
        deleted: DeletedSegments,
        turn: CompactionTurn,
    ) -> None:
        """Compact nothing yet; the thread that does takes its `turn`."""
        self._environment = environment
        self._contents = contents
        self._guard = guard
        self._flusher = flusher
        self._deleted = deleted
        self._turn = turn

    def section(self) -> DirtySection:
        """Return what there is to compact. Raises LogPoisonedError, LogClosedError, OSError, CorruptIndexError."""
        return self._locked(lambda: self._find_section(self._environment.config))

    def is_due(self) -> bool:
        """Whether a log that is compacted has enough to compact, or has had it for too long.

        Raises what `section` raises.
        """
        config = self._environment.config
        return self._may_compact(config) and self._is_enough(config, self._locked(lambda: self._find_section(config)))

    def compact_if_due(self, dedupe_buffer_bytes: int) -> CompactionReport | None:
        """Do both by the same configuration, whoever changes it meanwhile; None where it is not due."""
        config = self._environment.config
        if not self._may_compact(config):
            return None
        return self._in_turn(config, lambda begun: self._compact_by_need(begun, dedupe_buffer_bytes))

    def compact(self, dedupe_buffer_bytes: int) -> CompactionReport:
        """Compact as far as a map of the keys in so much memory reaches; see `Log.compact`."""
        config = self._environment.config
        if not config.is_compacted:
            raise ValueError("the log is not compacted: its cleanup_policy has to contain 'compact'")
        holes = self._contents.holes
        if holes:
            raise DamagedLogError(
                "the log has holes, and compaction would let readers pass over them unnoticed",
                file=self._environment.directory,
                offset=holes[0].start_offset,
                advice="delete the records up to behind the holes first: see `Log.holes`",
            )
        return self._in_turn(config, lambda begun: self._compact(begun, dedupe_buffer_bytes))

    def _may_compact(self, config: LogConfig) -> bool:
        return config.is_compacted and not self._contents.holes

    def _in_turn(self, config: LogConfig, call: Callable[[_Round], T]) -> T:
        guard, turn = self._guard, self._turn
        guard.ensure_writable()  # in a forked process there is nobody to end the turn of another thread
        if turn.is_mine:
            guard.refuse_nested()
        closings = turn.closings  # by now: who closes the log does not wait for those that wait for their turn, too
        with turn.lock:
            return call(self._locked(lambda: self._begin(config, closings)))

    def _is_enough(self, config: LogConfig, section: DirtySection) -> bool:
        return section.ratio > config.min_cleanable_dirty_ratio or section.is_overdue(
            config, self._environment.expiry_ms()
        )

    def _begin(self, config: LogConfig, closings: int) -> _Round:
        section = self._find_section(config)
        report = CompactionReport(section.start, section.start)
        return _Round(config, section, closings, self._contents.changes, report)

    def _find_section(self, config: LogConfig) -> DirtySection:
        contents = self._contents
        return DirtySection.of(
            contents.segments.segments,
            config,
            compacted_end=contents.cleaner_offset,
            log_start_offset=contents.log_start_offset,
            log_end_offset=contents.log_end_offset,
            last_stable_offset=contents.last_stable_offset,
            now_ms=self._environment.expiry_ms(),
            needs_keys=not self._environment.is_replicated,
        )

    # --- without the lock

    def _compact_by_need(self, begun: _Round, dedupe_buffer_bytes: int) -> CompactionReport | None:
        is_due = self._undisturbed(begun, lambda: self._is_enough(begun.config, begun.section))
        return self._compact(begun, dedupe_buffer_bytes) if is_due else None

    def _compact(self, begun: _Round, dedupe_buffer_bytes: int) -> CompactionReport:
        if not begun.section:
            return begun.report
        max_keys = max(dedupe_buffer_bytes // BYTES_PER_KEY, 1)
        config, section, now = begun.config, begun.section, self._environment.clock()
        ensure_undisturbed = partial(self._ensure_undisturbed, begun)
        offsets = self._undisturbed(begun, lambda: section.map_offsets(max_keys, ensure_undisturbed))
        end = offsets.latest_offset + 1
        kept_end = self._contents.high_watermark  # readers of committed records get there
        cleaner = BatchCleaner(
            offsets,
            SeenTransactions(),
            now,
            config.delete_retention_ms,
            kept_end,
            expiry_ms=self._environment.expiry_ms(),
        )
        reached = [segment for segment in section.segments if segment.base_offset < end]
        for group in self._undisturbed(begun, lambda: group_segments(reached, section.end, config)):
            self._clean_group(begun, group, cleaner)
        self._guard.do(ADDING, lambda: self._finish(begun, end))
        return replace(begun.report, end_offset=end)

    def _clean_group(self, begun: _Round, group: Group, cleaner: BatchCleaner) -> None:
        environment, ensure_undisturbed = self._environment, partial(self._ensure_undisturbed, begun)
        ensure_undisturbed()
        cleaned = CleanedSegment(environment.directory, group[0].base_offset, begun.config, environment.filesystem)
        try:
            last_batches = self._locked(self._last_batches)
            for segment in group:
                self._undisturbed(begun, partial(_note_aborted, begun.section.segments, segment, cleaner))
                self._undisturbed(begun, partial(cleaned.write, segment, cleaner, last_batches, ensure_undisturbed))
            cleaned.finish(cleaner.transactions.take_still_indexed())
            self._guard.do(ADDING, lambda: self._swap(begun, group, cleaned), needs_room=True)
        except BaseException:
            cleaned.discard()
            raise

    def _undisturbed(self, begun: _Round, read: Callable[[], T]) -> T:
        """Read segments.

        Raises what `_ensure_undisturbed` raises where they were taken away meanwhile, whatever that led to.
        """
        try:
            result = read()
        except Exception:
            self._ensure_undisturbed(begun)
            raise
        self._ensure_undisturbed(begun)
        return result

    def _ensure_undisturbed(self, begun: _Round) -> None:
        """Raise LogClosedError, and CompactionAbortedError where records went or somebody waits to close the log."""
        self._guard.ensure_readable()
        if begun.changes != self._contents.changes:
            raise self._aborted("records were deleted or truncated while the log was compacted")
        if begun.closings != self._turn.closings:
            raise self._aborted("the log is being closed while it is compacted")

    def _aborted(self, what: str) -> CompactionAbortedError:
        return CompactionAbortedError(
            what, file=self._environment.directory, advice="nothing is lost: compact it again"
        )

    def _locked(self, look: Callable[[], T]) -> T:
        self._guard.ensure_not_nested()
        with self._guard.lock:
            self._guard.ensure_open()
            return look()

    # --- with the lock held

    def _last_batches(self) -> dict[int, LastBatch]:
        """Return the last batch of each producer that is still known (Kafka: lastRecordsOfActiveProducers)."""
        return {
            key: LastBatch(producer.batches[-1].last_offset if producer.batches else None, producer.epoch)
            for key, producer in self._contents.producers.producers.items()
        }

    def _swap(self, begun: _Round, group: Group, cleaned: CleanedSegment) -> None:
        self._ensure_undisturbed(begun)
        if not self._environment.is_replicated:  # else other nodes have what a later start would take for missing
            self._flusher.note_skipped(cleaned.end_offset, self._end_of(group))
        segment = self._guard.remove(lambda: self._replace(group, cleaned))
        begun.changes = self._contents.changes
        report = begun.report
        begun.report = replace(
            report,
            segments_before=report.segments_before + len(group),
            segments_after=report.segments_after + 1,
            bytes_before=report.bytes_before + sum(each.size for each in group),
            bytes_after=report.bytes_after + segment.size,
        )

    def _end_of(self, group: Group) -> int:
        """Return where the segment behind a group begins: the active one is in none."""
        segments = self._contents.segments
        return segments.base_offsets[segments.segments.index(group[-1]) + 1]

    def _replace(self, group: Group, cleaned: CleanedSegment) -> LiveSegment:
        """Put a segment in the place of others (Kafka: replaceSegments).

        A crash before all of its files are `.swap` changes nothing; after that the next start completes this. The old
        segments go from the first on: a record goes before the tombstone or marker that decides what it is worth.
        """
        environment, contents = self._environment, self._contents
        cleaned.rename(FileFate.CLEANED, FileFate.SWAP)
        self._deleted.add(group[:1], keep_snapshots=True)
        self._deleted.add(group[1:])
        for each in group[1:]:
            contents.producers.delete_snapshot(each.base_offset)
        cleaned.rename(FileFate.SWAP, FileFate.LIVE)
        environment.filesystem.fsync_directory(environment.directory)
        segment = LiveSegment.load(
            environment.directory,
            cleaned.base_offset,
            environment.config,
            environment.filesystem,
            created_ms=environment.clock(),
            open_files=environment.open_files,
        )
        segments = contents.segments.segments
        first = segments.index(group[0])
        contents.segments = SegmentList((*segments[:first], segment, *segments[first + len(group) :]))
        return segment

    def _finish(self, begun: _Round, end: int) -> None:
        environment, report = self._environment, begun.report
        self._ensure_undisturbed(begun)
        self._contents.cleaner_offset = end
        self._flusher.write_checkpoints()
        environment.events.compacted(environment.directory, end, report.bytes_before - report.bytes_after)


def _note_aborted(segments: Sequence[LiveSegment], segment: LiveSegment, cleaner: BatchCleaner) -> None:
    """Add the aborted transactions with records in `segment`, one of `segments`, to the cleaner."""
    number = segments.index(segment)
    end = segments[number + 1].base_offset
    cleaner.transactions.add_aborted(aborted_within(segments[number:], segment.base_offset, end))
