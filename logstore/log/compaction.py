"""Compacts a log: lets each key have one record, in segments that take the place of others (Kafka: LogCleaner)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import RLock
from typing import TypeVar

from logstore.compaction.batch_cleaner import BatchCleaner, LastBatch
from logstore.compaction.cleaned_segment import CleanedSegment
from logstore.compaction.compaction_report import CompactionReport
from logstore.compaction.dirty_section import DirtySection
from logstore.compaction.offset_map import BYTES_PER_KEY
from logstore.compaction.seen_transactions import SeenTransactions
from logstore.compaction.segment_groups import Group, group_segments
from logstore.errors import CompactionAbortedError
from logstore.file_name import FileFate
from logstore.log.deleted_segments import DeletedSegments
from logstore.log.flusher import Flusher
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment
from logstore.log.state.log_guard import ADDING, LogGuard
from logstore.segment.live_segment import LiveSegment
from logstore.segment.segment_list import SegmentList, aborted_within

T = TypeVar("T")


@dataclass(slots=True)
class _Round:
    """One compaction under way."""

    section: DirtySection
    changes: int
    """What had been taken away from the log until then: see `LogContents.changes`."""
    report: CompactionReport


class Compaction:
    """Reads and writes beside appends and reads, without the log's lock; only to put a segment in place it is held.

    Whatever is taken away from the log meanwhile ends the compaction. What is in place by then stays there.
    """

    def __init__(
        self,
        environment: LogEnvironment,
        contents: LogContents,
        guard: LogGuard,
        flusher: Flusher,
        deleted: DeletedSegments,
        turn: RLock,
    ) -> None:
        """Compact nothing yet.

        `turn` is held by the thread that compacts; taken before the guard's lock, never after it.
        """
        self._environment = environment
        self._contents = contents
        self._guard = guard
        self._flusher = flusher
        self._deleted = deleted
        self._turn = turn

    def section(self) -> DirtySection:
        """Return what there is to compact. Raises LogPoisonedError, LogClosedError, OSError, CorruptIndexError."""
        return self._locked(self._find_section)

    def is_due(self) -> bool:
        """Whether a log that is compacted has enough to compact, or has had it for too long. Raises as `section`."""
        config = self._environment.config
        if not config.is_compacted:
            return False
        section = self.section()
        return section.ratio > config.min_cleanable_dirty_ratio or section.is_overdue(config, self._environment.clock())

    def compact(self, dedupe_buffer_bytes: int) -> CompactionReport:
        """Compact as far as a map of the keys in so much memory reaches; see `Log.compact`."""
        if not self._environment.config.is_compacted:
            raise ValueError("the log is not compacted: its cleanup_policy has to contain 'compact'")
        guard, turn = self._guard, self._turn
        guard.ensure_writable()  # in a forked process there is nobody to end the turn of another thread
        if turn._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001  Condition's way
            guard.refuse_nested()
        max_keys = max(dedupe_buffer_bytes // BYTES_PER_KEY, 1)
        with turn:
            begun = self._locked(self._begin)
            return self._compact(begun, max_keys) if begun.section else begun.report

    def _begin(self) -> _Round:
        section = self._find_section()
        return _Round(section, self._contents.changes, CompactionReport(section.start, section.start))

    def _find_section(self) -> DirtySection:
        contents = self._contents
        return DirtySection.of(
            contents.segments.segments,
            self._environment.config,
            compacted_end=contents.cleaner_offset,
            log_start_offset=contents.log_start_offset,
            log_end_offset=contents.log_end_offset,
            last_stable_offset=contents.last_stable_offset,
            now_ms=self._environment.clock(),
        )

    # --- without the lock

    def _compact(self, begun: _Round, max_keys: int) -> CompactionReport:
        config, section, now = self._environment.config, begun.section, self._environment.clock()
        offsets = self._undisturbed(begun, lambda: section.map_offsets(max_keys))
        end = offsets.latest_offset + 1
        kept_end = self._contents.high_watermark  # readers of committed records get there
        cleaner = BatchCleaner(offsets, SeenTransactions(), now, config.delete_retention_ms, kept_end)
        reached = [segment for segment in section.segments if segment.base_offset < end]
        for group in self._undisturbed(begun, lambda: group_segments(reached, section.end, config)):
            self._clean_group(begun, group, cleaner)
        self._guard.do(ADDING, lambda: self._finish(begun, end))
        return replace(begun.report, end_offset=end)

    def _clean_group(self, begun: _Round, group: Group, cleaner: BatchCleaner) -> None:
        environment = self._environment
        cleaned = CleanedSegment(
            environment.directory, group[0].base_offset, environment.config, environment.filesystem
        )
        try:
            last_batches = self._locked(self._last_batches)
            for segment in group:
                self._undisturbed(begun, partial(_note_aborted, begun.section.segments, segment, cleaner))
                self._undisturbed(begun, partial(cleaned.write, segment, cleaner, last_batches))
            cleaned.finish(cleaner.transactions.take_still_indexed())
            self._guard.do(ADDING, lambda: self._swap(begun, group, cleaned), needs_room=True)
        except BaseException:
            cleaned.discard()
            raise

    def _undisturbed(self, begun: _Round, read: Callable[[], T]) -> T:
        """Read segments. Raises CompactionAbortedError where they were taken away meanwhile, whatever that led to."""
        try:
            result = read()
        except Exception as error:
            if begun.changes != self._contents.changes:
                raise self._aborted() from error
            raise
        self._ensure_undisturbed(begun)
        return result

    def _ensure_undisturbed(self, begun: _Round) -> None:
        if begun.changes != self._contents.changes:
            raise self._aborted()

    def _aborted(self) -> CompactionAbortedError:
        return CompactionAbortedError(
            "records were deleted or truncated while the log was compacted",
            file=self._environment.directory,
            advice="nothing is lost: compact it again",
        )

    def _locked(self, look: Callable[[], T]) -> T:
        self._guard.ensure_not_nested()
        with self._guard.lock:
            self._guard.ensure_open()
            return look()

    # --- with the lock held

    def _last_batches(self) -> dict[int, LastBatch]:
        """Say what the producers that are still known wrote last (Kafka: lastRecordsOfActiveProducers)."""
        return {
            key: LastBatch(producer.batches[-1].last_offset if producer.batches else None, producer.epoch)
            for key, producer in self._contents.producers.producers.items()
        }

    def _swap(self, begun: _Round, group: Group, cleaned: CleanedSegment) -> None:
        self._ensure_undisturbed(begun)
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
    """Tell which of the transactions with records in `segment`, one of `segments`, were aborted."""
    number = segments.index(segment)
    end = segments[number + 1].base_offset
    cleaner.transactions.add_aborted(aborted_within(segments[number:], segment.base_offset, end))
