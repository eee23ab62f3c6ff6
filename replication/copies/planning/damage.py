"""Damage that shows without the records: where a log ends or starts, and what stands beside it."""

import os
from dataclasses import dataclass, replace
from typing import Any, Self

from logstore.errors import LogStoreError
from logstore.file_name import FileKind
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT
from logstore.offline.recovered_log import RecoveredLog, checkpointed_history
from logstore.offline.recovery_scan import RecoveryScan
from logstore.verify.epoch_check import REBUILD


@dataclass(frozen=True, slots=True)
class Damage:
    """What is wrong with one replica's log as a broker would load it, and where it ends then."""

    end_offset: int
    error: LogStoreError

    @classmethod
    def of(cls, log: RecoveredLog) -> Self | None:
        """Return the damage of a log, None where it is whole as far as it had to be read.

        Raises OSError, and EpochError where the leader-epoch checkpoint was altered since the log was loaded.
        """
        error = _all_dropped(log) or log.damage or _committed_records_gone(log) or _epochs_gone(log)
        return None if error is None else cls(log.log_end_offset, error)

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints: where the log ends for it, and where the damage is."""
        place = {"file": self.error.file, "position": self.error.position, "offset": self.error.offset}
        return {"end_offset": self.end_offset, **place, "message": str(self.error)}

    def __str__(self) -> str:
        return f"its log counts as ending at offset {self.end_offset:,}: {self.error}"


def _all_dropped(log: RecoveredLog) -> LogStoreError | None:
    partition, start = log.partition, log.partition.checkpoints.log_start_offset
    # A log that starts beyond its files counts as ending where it starts.
    if start is None or start < log.log_end_offset or not partition.segments:
        return None
    end = RecoveryScan.read(replace(partition, checkpoints=partition.checkpoints._replace(log_start_offset=None)))
    if start <= end.log_end_offset:
        return None
    return LogStoreError(
        f"the log start offset is {start:,}, but its files end at {end.log_end_offset:,}: its broker drops all of it",
        file=LOG_START_OFFSET_CHECKPOINT,
        advice="correct the file with the broker stopped",
    )


def _committed_records_gone(log: RecoveredLog) -> LogStoreError | None:
    committed = log.partition.checkpoints.high_watermark
    if committed is None or committed <= log.log_end_offset:
        return None
    return LogStoreError(
        f"the high watermark was {committed:,}, so committed records are gone from this copy",
        file=HIGH_WATERMARK_CHECKPOINT,
        offset=log.log_end_offset,
        advice="check that another copy has them before this one leads",
    )


def _epochs_gone(log: RecoveredLog) -> LogStoreError | None:
    partition = log.partition
    if not partition.segments or checkpointed_history(partition) or not log.lineage():
        return None
    path = partition.path / FileKind.LEADER_EPOCH_CHECKPOINT.value
    if partition.epoch_checkpoint_path:
        what = "has no leader epochs"
    elif os.path.lexists(path):
        what = "is not a regular file and was not read,"
    else:
        what = "is missing"
    return LogStoreError(
        f"the file {what} although batches carry leader epochs",
        file=path,
        advice=REBUILD,
    )
