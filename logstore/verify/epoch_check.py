"""The leader-epoch checkpoint agrees with the epochs that the batches carry."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Self

from epoch import EpochEntry
from epoch.checkpoint import LEADER_EPOCH_CHECKPOINT, LeaderEpochCheckpoint
from epoch.errors import EpochError
from logstore.epoch_runs import EpochRun, EpochRuns
from logstore.partition_directory import PartitionDirectory
from logstore.verify.finding import Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck

REBUILD = "`epochlog epochs DIR --rebuild --output DIR2` makes it anew from the batches"


class EpochCheck(SilentCheck):
    """Compares who led by the checkpoint file with who led by the batch headers."""

    def __init__(
        self,
        report: Reporter,
        checkpoint: Path | None,
        *,
        log_start_offset: int,
        segment_bases: Sequence[int],
        clean_shutdown: bool,
    ) -> None:
        self._report = report
        self._checkpoint = checkpoint
        self._log_start_offset = log_start_offset
        self._segment_bases = frozenset(segment_bases)
        self._clean_shutdown = clean_shutdown
        self.runs = EpochRuns()
        self._compacted = False

    @classmethod
    def of(cls, partition: PartitionDirectory, report: Reporter) -> Self:
        """Make the check of one partition."""
        return cls(
            report,
            partition.epoch_checkpoint_path,
            log_start_offset=partition.log_start_offset,
            segment_bases=[segment.base_offset for segment in partition.segments],
            clean_shutdown=partition.checkpoints.clean_shutdown,
        )

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Collect the epochs."""
        self.runs.add(chunk.columns, chunk.segment.log_path.name)
        spans = chunk.columns.last_offset - chunk.columns.base_offset + 1
        self._compacted = self._compacted or bool((chunk.columns.record_count < spans).any())
        yield from ()

    def end(self, log_end_offset: int) -> Iterator[Finding]:
        """Compare them with the checkpoint."""
        rising, odd = self.runs.split()
        for run in odd:
            yield self._report.error(
                "epoch-not-monotonic",
                f"the batches with offsets {run.first_offset}..{run.last_offset} carry leader epoch {run.epoch}, "
                "which does "
                "not fit between their neighbours': the field is not covered by the checksum, so it may have been "
                "altered",
                file=run.file,
                position=run.position,
                offset=run.first_offset,
            )
        yield from self._compare(rising, log_end_offset)

    def _compare(self, rising: Sequence[EpochRun], log_end_offset: int) -> Iterator[Finding]:
        if self._checkpoint is None:
            if rising:
                yield self._error(
                    "epoch-checkpoint-missing", f"the file is missing although batches carry epochs: {REBUILD}"
                )
            return
        try:
            if self._checkpoint.stat().st_size == 0:
                yield self._error("epoch-checkpoint-empty", f"the file has 0 bytes: {REBUILD}")
                return
            entries = LeaderEpochCheckpoint(self._checkpoint.parent).read()
        except (OSError, EpochError) as error:
            yield self._error("epoch-checkpoint-unparsable", f"{error}; {REBUILD}")
            return
        yield from self._entries(entries, log_end_offset)
        yield from self._runs_without_entry(rising, entries, log_end_offset)
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
            if entry.start_offset > log_end_offset:
                yield self._error(
                    "epoch-beyond-log-end",
                    f"epoch {entry.epoch} starts at {entry.start_offset}, beyond the log's end at {log_end_offset}: "
                    "records "
                    "are gone, or the file is another log's",
                    entry.start_offset,
                )

    def _runs_without_entry(
        self, rising: Sequence[EpochRun], entries: Sequence[EpochEntry], log_end_offset: int
    ) -> Iterator[Finding]:
        cuts = self._segment_bases | {log_end_offset}
        known = {entry.epoch for entry in entries}
        for run in rising:
            if run.epoch in known or run.last_offset < self._log_start_offset:
                continue
            if entries and entries[0].start_offset in cuts and self._cut_before_log_start(run, entries[0].start_offset):
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
                f"epoch {run.epoch} has no entry, although the batches from offset {run.first_offset} to "
                f"{run.last_offset} "
                f"carry it: a follower would be told to truncate wrongly; {REBUILD}",
                max(run.first_offset, self._log_start_offset),
            )

    def _cut_before_log_start(self, run: EpochRun, history_start: int) -> bool:
        """Retention cuts the history first and records the log's new start later: a kill may fall between."""
        return not self._clean_shutdown and run.last_offset < history_start

    def _entries_against_runs(
        self, rising: Sequence[EpochRun], entries: Sequence[EpochEntry], log_end_offset: int
    ) -> Iterator[Finding]:
        by_epoch = {run.epoch: run for run in rising}
        for number, entry in enumerate(entries):
            run = by_epoch.get(entry.epoch)
            if run is None:
                if not self._may_be_without_batches(number, entry, rising, log_end_offset):
                    yield self._error(
                        "epoch-without-batches",
                        f"epoch {entry.epoch} starts at {entry.start_offset} by the file, but no batch carries it; "
                        f"{REBUILD}",
                        entry.start_offset,
                    )
            elif not self._start_fits(number, entry, run):
                yield self._error(
                    "epoch-start-differs",
                    f"epoch {entry.epoch} starts at {entry.start_offset} by the file and at {run.first_offset} by the "
                    f"batches; {REBUILD}",
                    entry.start_offset,
                )

    def _may_be_without_batches(
        self, number: int, entry: EpochEntry, rising: Sequence[EpochRun], log_end_offset: int
    ) -> bool:
        """Tell apart what is normal: a leader without writes since, a history older than the log, a cleaned log."""
        first_offset = rising[0].first_offset if rising else log_end_offset
        at_or_beyond_end = entry.start_offset >= log_end_offset
        before_the_log = number == 0 and entry.start_offset <= first_offset
        return self._compacted or at_or_beyond_end or before_the_log

    def _start_fits(self, number: int, entry: EpochEntry, run: EpochRun) -> bool:
        if entry.start_offset == run.first_offset:
            return True
        if self._compacted:
            return entry.start_offset <= run.last_offset
        # The first entry moves with the log's start, which may stand inside the run or before what is left of it.
        return number == 0 and entry.start_offset <= run.last_offset + 1

    def _error(self, kind: str, message: str, offset: int | None = None) -> Finding:
        return self._report.error(kind, message, file=LEADER_EPOCH_CHECKPOINT, offset=offset)
