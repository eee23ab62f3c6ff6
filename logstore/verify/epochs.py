"""A partition's leader epochs by its checkpoint file and by its batches."""

import time
from dataclasses import dataclass, replace
from typing import Any

from epoch import EpochEntry, EpochError, EpochHistory, LeaderEpochCheckpoint
from epoch.history import MAX_OFFSET
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify.compaction import Compaction
from logstore.verify.epoch_check import EpochCheck
from logstore.verify.finding import Finding, Reporter
from logstore.verify.log_pass import LogPass
from logstore.verify.stable_read import LOOKS, PAUSE_SECONDS, changes, identity, state_of, wait_for_what_is_half_done


@dataclass(frozen=True, slots=True)
class EpochComparison:
    """The leader epochs of one partition, by the checkpoint file and by the batches."""

    partition: PartitionDirectory
    checkpoint: tuple[EpochEntry, ...] | None
    """The entries as they stand in the file; None where it is missing or cannot be parsed."""
    batches: tuple[EpochEntry, ...]
    """Each epoch that batches carry, with the first offset that carries it."""
    findings: tuple[Finding, ...]
    """How the two differ, and damage that was met on the way."""
    rebuilt: EpochHistory
    """What the checkpoint should say, by the batches and by those of its entries that they do not contradict."""

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as `epochlog epochs --json` prints it."""
        topic, partition = self.partition.topic_partition
        return {
            "topic": topic,
            "partition": partition,
            "checkpoint": None if self.checkpoint is None else [entry._asdict() for entry in self.checkpoint],
            "batches": [entry._asdict() for entry in self.batches],
            "rebuilt": [entry._asdict() for entry in self.rebuilt.entries],
            "findings": [finding.as_json() for finding in self.findings],
        }


def compare_epochs(partition: PartitionDirectory) -> EpochComparison:
    """Read the checkpoint and all batch headers of a partition, and compare them.

    If a broker replaces files meanwhile and something seems wrong, they are read again, a few times at most; what is
    wrong is then what each look has found.
    """
    confirmed: set[object] | None = None
    for _ in range(LOOKS - 1):
        before = state_of(partition)
        comparison = _compare(partition)
        wrong = {identity(finding) for finding in comparison.findings if finding.severity.needs_attention}
        wait_for_what_is_half_done(partition, comparison.findings)
        if not wrong or not changes(partition, before):
            return comparison
        confirmed = wrong if confirmed is None else wrong & confirmed
        time.sleep(PAUSE_SECONDS)
        partition = partition.listed_again()
    last = _compare(partition)
    steady = (
        each for each in last.findings if not each.severity.needs_attention or identity(each) in (confirmed or ())
    )
    return replace(last, findings=tuple(steady))


def _compare(partition: PartitionDirectory) -> EpochComparison:
    report = Reporter(partition.topic_partition)
    compaction = Compaction.of(partition)
    check = EpochCheck.of(partition, report, compaction)
    log_pass = LogPass(partition.segments, [compaction, check], report)
    findings = tuple(log_pass.run())
    rising, _ = check.runs.split()
    batches = tuple(EpochEntry(run.epoch, run.first_offset) for run in rising)
    checkpoint = _checkpoint(partition)
    rebuilt = EpochHistory(checkpoint or ()).reconcile(
        batches,
        log_start_offset=partition.epochs_start_offset,
        # An epoch that starts exactly at the log's end is a leader's that has not written yet: it stays in the file.
        log_end_offset=log_pass.log_end_offset + 1 if log_pass.end_is_known else MAX_OFFSET,
    )
    return EpochComparison(partition, checkpoint, batches, findings, rebuilt)


def _checkpoint(partition: PartitionDirectory) -> tuple[EpochEntry, ...] | None:
    if partition.epoch_checkpoint_path is None:
        return None
    try:
        return tuple(LeaderEpochCheckpoint(partition.path).read())
    except EpochError:
        return None
