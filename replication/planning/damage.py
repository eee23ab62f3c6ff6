"""Damage that makes a log end before its files do, or before the records that it had committed."""

from dataclasses import dataclass
from typing import Any, Self

from logstore.errors import LogStoreError
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT
from logstore.offline.recovered_log import RecoveredLog


@dataclass(frozen=True, slots=True)
class Damage:
    """What Kafka's recovery finds in one replica's log, and where it ends the log therefore."""

    end_offset: int
    error: LogStoreError

    @classmethod
    def of(cls, log: RecoveredLog) -> Self | None:
        """Return the damage of a log, None where it is whole as far as it had to be read."""
        error = log.damage or _committed_records_gone(log)
        return None if error is None else cls(log.log_end_offset, error)

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints: where the log ends for it, and where the damage is."""
        place = {"file": self.error.file, "position": self.error.position, "offset": self.error.offset}
        return {"end_offset": self.end_offset, **place, "message": str(self.error)}

    def __str__(self) -> str:
        return f"its log counts as ending at offset {self.end_offset:,}: {self.error}"


def _committed_records_gone(log: RecoveredLog) -> LogStoreError | None:
    committed = log.partition.checkpoints.high_watermark
    if committed is None or committed <= log.log_end_offset:
        return None
    return LogStoreError(
        f"the high watermark was {committed:,}, so committed records are gone from this copy",
        file=HIGH_WATERMARK_CHECKPOINT,
        offset=log.log_end_offset,
        advice="see that another copy has them before this one leads",
    )
