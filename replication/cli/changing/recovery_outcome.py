"""What recovery did to one log, or would do."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, Self

from replication.cli.changing.unusable_file import named
from replication.cli.output.printing import told

if TYPE_CHECKING:
    from logstore import DroppedTail, Log, RecoveredLog, RecoveryReport, TopicPartition
    from logstore.files.root_checkpoints import PartitionCheckpoints
    from logstore.offline.partition_directory import PartitionDirectory


@dataclass(frozen=True)
class RecoveryOutcome:
    """One log as it is after recovery, with what was done for that."""

    partition: "TopicPartition"
    log_start_offset: int
    report: "RecoveryReport"
    closed_in_order: bool = False
    """Whether the log counted as closed cleanly, so that no batches were checked."""
    faults: tuple[str, ...] = ()
    """What is wrong in files beside the log, which recovery leaves as they are."""

    def knowing(self, partition: "PartitionDirectory") -> Self:
        """Add what the files beside the log said before."""
        checkpoints = partition.checkpoints
        return replace(
            self,
            report=replace(self.report, high_watermark_before=checkpoints.high_watermark),
            closed_in_order=checkpoints.clean_shutdown,
            faults=(*faults_of_metadata(partition.path), *self._doubt(checkpoints)),
        )

    def _doubt(self, checkpoints: "PartitionCheckpoints") -> Iterator[str]:
        """Report when it is not known whether what is lost was committed."""
        from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT

        is_unread = HIGH_WATERMARK_CHECKPOINT in checkpoints.unread
        if is_unread or (checkpoints.high_watermark is None and self.report.dropped):
            why = "could not be read" if is_unread else "does not mention it"
            yield f"whether committed records are lost is not known: {HIGH_WATERMARK_CHECKPOINT} {why}"

    @classmethod
    def of(cls, log: "Log") -> Self:
        """Create it from a log that was recovered as it was opened."""
        return cls(log.topic_partition, log.log_start_offset, log.report)

    @classmethod
    def expected(cls, partition: "PartitionDirectory") -> Self:
        """Work out where recovery would let the log end, and with which leader epochs; indexes are not looked at.

        Nothing is changed. Raises LogStoreError and OSError.
        """
        from epoch import EpochError, EpochHistory
        from logstore import RecoveredLog, RecoveryReport
        from logstore.offline.recovered_log import checkpointed_history
        from logstore.offline.recovery_scan import RecoveryScan

        report = RecoveryReport()
        try:
            found = checkpointed_history(partition)
        except EpochError as error:
            found, report.damaged_epoch_checkpoint = EpochHistory(), told(error)
        log = RecoveredLog.of(partition, RecoveryScan.read(partition), found)
        report.epochs_before, report.epochs_after = list(found.entries), list(log.history.entries)
        report.dropped = _dropped(log) if log.damage else []
        report.log_end_offset = log.log_end_offset
        return cls(partition.topic_partition, log.log_start_offset, report)

    @property
    def log_end_offset(self) -> int:
        """Where the log ends after recovery."""
        return self.report.log_end_offset

    @property
    def committed_offsets_lost(self) -> int:
        """How many offsets lie between the log's end and the high watermark before: records there were committed."""
        return self.report.committed_offsets_lost

    @property
    def needs_attention(self) -> bool:
        """Whether anything was changed, or is wrong still, or committed records are lost."""
        return self.report.changed or self.committed_offsets_lost > 0 or bool(self.faults)

    def __str__(self) -> str:
        """Report what was done and lost, or why nothing was."""
        told_of = ([self._loss()] if self.committed_offsets_lost else []) + self.deeds + [*self.faults]
        if told_of:
            return "; ".join(told_of)
        return "not checked: cleanly closed; --all checks it" if self.closed_in_order else "nothing was wrong"

    def _loss(self) -> str:
        from replication.cli.changing.committed_loss import offsets_lost
        from replication.copies.audit.judgement.committed_records import in_words

        committed = self.report.high_watermark_before or 0
        lost = in_words(offsets_lost(self.log_end_offset, committed))
        return f"committed records lost: at most {lost}, counting the offsets up to the high watermark {committed:,}"

    @property
    def deeds(self) -> list[str]:
        """What was done, in words; nothing where nothing was wrong."""
        report = self.report
        deeds = [f"{tail.file} cut at {tail.position:,}: {tail.reason}" for tail in report.dropped]
        deeds += [f"{name} split" for name in report.split_segments]
        deeds += [f"indexes of {name} rebuilt" for name in report.rebuilt_indexes]
        deeds += [f"{name} removed" for name in report.removed_files]
        deeds += [f"{name} put in place" for name in report.renamed_files]
        deeds += ["leader epochs brought up to date"] if report.epochs_before != report.epochs_after else []
        return deeds

    def as_json(self) -> dict[str, Any]:
        """Return a document of plain values."""
        return {
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "log_start_offset": self.log_start_offset,
            "committed_offsets_lost": self.committed_offsets_lost,
            "closed_in_order": self.closed_in_order,
            "faults": list(self.faults),
            **self.report.as_json(),
        }


def faults_of_metadata(directory: Path) -> Iterator[str]:
    """Yield what is wrong with the file that has the topic's id; nothing where there is none, as before Kafka 2.8."""
    from logstore import LogStoreError
    from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata

    path = directory / PARTITION_METADATA_NAME
    if not os.path.lexists(path):
        return
    mode = path.lstat().st_mode
    fault = f"{path}: {named(mode)} stands where this file belongs"
    if S_ISREG(mode):
        try:
            PartitionMetadata.read(path)
        except (LogStoreError, OSError) as error:
            fault = told(error)
        else:
            return
    yield f"{fault}; a KRaft broker cannot load such a log, and treats a log without this file as stray"


def _dropped(log: "RecoveredLog") -> "list[DroppedTail]":
    from logstore.recovery.dropped_batches import dropped_tail

    # The file, the position and what to do stand beside it.
    reason = log.damage.what if log.damage else ""
    last, *others = log.partition.segments[len(log.segments) - 1 :]
    kept, name = log.valid_bytes, last.log_path.name
    tails = [dropped_tail(last.log_path, kept, reason)]
    return tails + [dropped_tail(each.log_path, 0, f"it follows the damage in {name}") for each in others]
