"""The leader-epoch checkpoint agrees with the epochs that the batches carry."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Self

from epoch import EpochEntry, EpochHistory
from epoch.checkpoint import LEADER_EPOCH_CHECKPOINT, LeaderEpochCheckpoint
from logstore.file_name import FileFate, FileKind, file_name
from logstore.files.offset_checkpoint import LOG_START_OFFSET_CHECKPOINT
from logstore.offline.epoch_runs import EpochRun, EpochRuns
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import begins_below
from logstore.offline.segment import Segment
from logstore.verify.compaction import Compaction
from logstore.verify.finding import CURE, Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck
from logstore.verify.reading import read_file

FIRST_SEGMENT_MISSING = "first-segment-missing"
REBUILD = "`epochlog epochs DIR --rebuild --output DIR2` rebuilds it from the batches"


class EpochCheck(SilentCheck):
    """Compares the epochs of the checkpoint file with those of the batch headers."""

    def __init__(
        self,
        report: Reporter,
        checkpoint: Path | None,
        compaction: Compaction,
        *,
        log_start_offset: int,
        segment_bases: Sequence[int],
        clean_shutdown: bool,
        log_start_is_known: bool = True,
        may_begin_later: bool = False,
        begins_below: int | None = None,
    ) -> None:
        self._report = report
        self._checkpoint = checkpoint
        self._compaction = compaction
        self._log_start_offset = log_start_offset
        self._segment_bases = frozenset(segment_bases)
        self._clean_shutdown = clean_shutdown
        self._log_start_is_known = log_start_is_known
        self._may_begin_later = may_begin_later
        self._begins_below = begins_below
        self.runs: EpochRuns = EpochRuns()
        self._read_up_to: tuple[Segment, int] | None = None
        self._has_unread = False

    @classmethod
    def of(cls, partition: PartitionDirectory, report: Reporter, compaction: Compaction) -> Self:
        """Make the check of one partition."""
        return cls(
            report,
            partition.epoch_checkpoint_path,
            compaction,
            log_start_offset=partition.log_start_offset,
            segment_bases=[segment.base_offset for segment in partition.segments],
            clean_shutdown=partition.checkpoints.clean_shutdown,
            log_start_is_known=LOG_START_OFFSET_CHECKPOINT not in partition.checkpoints.unread,
            may_begin_later=_may_begin_later(partition),
            begins_below=begins_below(partition, EpochHistory()),
        )

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Collect the epochs."""
        self.runs.extend(chunk.epoch_runs)
        self._read_up_to = chunk.segment, chunk.columns.next_position
        yield from ()

    def unread(self, segment: Segment) -> None:
        """Note that epochs may begin in bytes that could not be read."""
        del segment
        self._has_unread = True

    def end(self, log_end_offset: int) -> Iterator[Finding]:
        """Compare them with the checkpoint."""
        if self._begins_below is not None and self._segment_bases:
            first = min(self._segment_bases)
            yield self._report.info(
                "beginning-not-here",
                f"the log starts at offset {self._begins_below} by {LOG_START_OFFSET_CHECKPOINT}, its first segment "
                f"at {first}: what is between is in remote storage or lost: the files do not show which, but "
                "`remote.storage.enable` of the topic does",
                file=file_name(FileKind.LOG, first),
                offset=self._begins_below,
            )
        rising, odd = self.runs.split()
        for run in odd:
            yield self._report.error(
                "epoch-not-monotonic",
                f"the batches with offsets {run.first_offset}..{run.last_offset} carry leader epoch {run.epoch}, which "
                "does not fit between their neighbours': the checksum does not cover the field, so it may have been "
                "altered; take the partition from another replica",
                file=run.file,
                position=run.position,
                offset=run.first_offset,
            )
        yield from self._compare(rising, log_end_offset)

    def _compare(self, rising: Sequence[EpochRun], log_end_offset: int) -> Iterator[Finding]:
        if self._checkpoint is None:
            if rising:
                yield self._error(
                    "epoch-checkpoint-missing",
                    f"{LEADER_EPOCH_CHECKPOINT} is missing although batches carry epochs: {REBUILD}",
                )
            return
        try:
            if self._checkpoint.stat().st_size == 0:
                # Kafka creates the file empty: a follower that nobody has written to yet has it so.
                if rising:
                    yield self._error(
                        "epoch-checkpoint-empty", f"the file has 0 bytes although batches carry epochs: {REBUILD}"
                    )
                return
        except OSError:
            pass  # reading it says why
        file = LeaderEpochCheckpoint(self._checkpoint.parent)
        findings, entries = read_file(
            file.read, self._checkpoint.name, "epoch-checkpoint-unparsable", self._report, advice=REBUILD
        )
        yield from findings
        if entries is None:
            return
        yield from self._entries(entries, log_end_offset)
        yield from self._before_first_segment(rising, entries)
        yield from self._runs_without_entry(rising, entries, log_end_offset)
        if not self._has_unread:
            yield from self._entries_against_runs(rising, entries, log_end_offset)

    def _entries(self, entries: Sequence[EpochEntry], log_end_offset: int) -> Iterator[Finding]:
        for previous, entry in pairwise(entries):
            if not (previous.epoch < entry.epoch and previous.start_offset < entry.start_offset):
                yield self._error(
                    "epoch-checkpoint-not-monotonic",
                    f"epoch {entry.epoch} from offset {entry.start_offset} follows epoch {previous.epoch} from "
                    f"{previous.start_offset}: Kafka drops the earlier entry when it reads the file; {REBUILD}",
                    entry.start_offset,
                )
        for entry in entries:
            if entry.start_offset > log_end_offset and not self._has_grown():
                yield self._beyond_end(entry, log_end_offset)

    def _beyond_end(self, entry: EpochEntry, log_end_offset: int) -> Finding:
        what = f"epoch {entry.epoch} starts at {entry.start_offset}, beyond the log's end at {log_end_offset}"
        kind, offset = "epoch-beyond-log-end", entry.start_offset
        if self._clean_shutdown:
            return self._error(kind, f"{what}: records are gone, or the file is another log's; {REBUILD}", offset)
        return self._report.warning(
            kind,
            f"{what}: records are gone, the file is another log's, or a crash came between a truncation and its flush; "
            "Kafka drops the entry when it loads the log",
            file=LEADER_EPOCH_CHECKPOINT,
            offset=offset,
        )

    def _has_grown(self) -> bool:
        """Whether a broker has appended since the log was read, so that its end then says nothing of the file now."""
        if self._clean_shutdown or self._read_up_to is None:
            return False
        segment, position = self._read_up_to
        try:
            return segment.size > position
        except OSError:
            return False

    def _runs_without_entry(
        self, rising: Sequence[EpochRun], entries: Sequence[EpochEntry], log_end_offset: int
    ) -> Iterator[Finding]:
        cut = self._is_cut_before_log_start(rising, entries, log_end_offset)
        known = {entry.epoch for entry in entries}
        for run in rising:
            if run.epoch in known or run.last_offset < self._log_start_offset:
                continue
            if not self._log_start_is_known and entries and run.last_offset < entries[0].start_offset:
                continue
            if cut and run.last_offset < entries[0].start_offset:
                yield self._report.info(
                    "epochs-ahead-of-log-start",
                    f"epoch {run.epoch} (offsets {run.first_offset}..{run.last_offset}) has no entry: the history "
                    f"begins at {entries[0].start_offset}, where the log was about to start when the broker was killed",
                    file=LEADER_EPOCH_CHECKPOINT,
                    offset=run.first_offset,
                )
                continue
            yield self._error(
                "epoch-entry-missing",
                f"epoch {run.epoch} has no entry, although the batches with offsets {run.first_offset}.."
                f"{run.last_offset} carry it: a follower would truncate to a wrong offset; {REBUILD}",
                max(run.first_offset, self._log_start_offset),
            )

    def _before_first_segment(self, rising: Sequence[EpochRun], entries: Sequence[EpochEntry]) -> Iterator[Finding]:
        """Report that the log has lost its first segments: a broker that deletes them moves the first entry too."""
        begins = next((entry.start_offset for entry in EpochHistory(entries).entries), None)
        if begins is None or not self._segment_bases or self._may_begin_later:
            return
        first = min([*self._segment_bases, *(run.first_offset for run in rising)])
        if begins >= first:
            return
        yield self._report.error(
            FIRST_SEGMENT_MISSING,
            f"by its leader epochs the log begins at offset {begins}, but its first segment begins at {first}: "
            "segments are gone that no broker has deleted, which moves the first epoch too and keeps what it deletes "
            f"for a while as .deleted; at its next start a broker lets the log begin at {first}; {CURE}",
            file=file_name(FileKind.LOG, begins),
            offset=begins,
        )

    def _is_cut_before_log_start(
        self, rising: Sequence[EpochRun], entries: Sequence[EpochEntry], log_end_offset: int
    ) -> bool:
        """Whether the history begins where the log was about to start.

        The history is cut first and the log's new start recorded up to a minute later: a kill may fall between.
        Retention cuts where a segment begins, a deletion of records anywhere. A lost entry differs from the latter:
        without it the history begins exactly where a run does.
        """
        if self._clean_shutdown or not entries:
            return False
        first = entries[0]
        inside_its_run = any(
            run.epoch == first.epoch and run.first_offset < first.start_offset <= run.last_offset for run in rising
        )
        return inside_its_run or first.start_offset == log_end_offset or first.start_offset in self._segment_bases

    def _entries_against_runs(
        self, rising: Sequence[EpochRun], entries: Sequence[EpochEntry], log_end_offset: int
    ) -> Iterator[Finding]:
        by_epoch = {run.epoch: run for run in rising}
        for number, entry in enumerate(entries):
            run = by_epoch.get(entry.epoch)
            if _begins_in_a_hole(entry, rising):
                continue
            if run is None:
                if not self._may_be_without_batches(entry, rising, log_end_offset):
                    yield self._error(
                        "epoch-without-batches",
                        f"epoch {entry.epoch} starts at {entry.start_offset} by the file, but no batch carries it; "
                        f"{REBUILD}",
                        entry.start_offset,
                    )
            elif not self._start_fits(entry, run, is_first_entry=number == 0, is_first_run=run is rising[0]):
                yield self._error(
                    "epoch-start-differs",
                    f"epoch {entry.epoch} starts at {entry.start_offset} by the file and at {run.first_offset} by the "
                    f"batches; {REBUILD}",
                    entry.start_offset,
                )

    def _may_be_without_batches(self, entry: EpochEntry, rising: Sequence[EpochRun], log_end_offset: int) -> bool:
        """Whether it is normal: a leader without writes since, a history older than the log, a cleaned log."""
        first_offset = rising[0].first_offset if rising else log_end_offset
        at_or_beyond_end = entry.start_offset >= log_end_offset
        before_the_log = entry.start_offset <= first_offset
        return self._compaction.found or at_or_beyond_end or before_the_log

    def _start_fits(self, entry: EpochEntry, run: EpochRun, *, is_first_entry: bool, is_first_run: bool) -> bool:
        start = entry.start_offset
        if start == run.first_offset:
            return True
        if start < run.first_offset:
            # The cleaner may have removed the epoch's first batches, or the log may begin inside the epoch.
            return is_first_run or self._compaction.found
        # The first entry moves with the log's start, which may stand inside the run or at its end; a broker that stops
        # has recorded the start.
        if is_first_entry and self._clean_shutdown and self._log_start_is_known:
            return start <= self._log_start_offset
        return is_first_entry and start <= run.last_offset + 1

    def _error(self, kind: str, message: str, offset: int | None = None) -> Finding:
        return self._report.error(kind, message, file=LEADER_EPOCH_CHECKPOINT, offset=offset)


def _may_begin_later(partition: PartitionDirectory) -> bool:
    """Whether the log may begin above its first epoch: segments are being deleted, or only remote storage has them.

    Kafka records that a log starts below its first segment only with remote storage (KIP-405).
    """
    first = min((segment.base_offset for segment in partition.segments), default=0)
    deleted = (name.base_offset or 0 for name, _ in partition.named(FileKind.LOG, FileFate.DELETED))
    told = partition.checkpoints.log_start_offset
    is_remote = partition.own_checkpoints is None and told is not None and told < first
    is_unknown = LOG_START_OFFSET_CHECKPOINT in partition.checkpoints.unread
    return is_remote or is_unknown or any(base < first for base in deleted)


def _begins_in_a_hole(entry: EpochEntry, rising: Sequence[EpochRun]) -> bool:
    """Whether batches are missing, as is reported elsewhere, where the epoch may have begun."""
    return any(
        before.epoch < entry.epoch <= after.epoch and before.last_offset < entry.start_offset < after.first_offset
        for before, after in pairwise(rising)
    )
