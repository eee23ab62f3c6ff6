"""Damage that makes a log end before its files do."""

from dataclasses import dataclass
from typing import Any, Self

from logstore.errors import LogStoreError
from logstore.offline.recovered_log import RecoveredLog


@dataclass(frozen=True, slots=True)
class Damage:
    """What Kafka's recovery finds in one replica's log, and where it ends the log therefore."""

    end_offset: int
    error: LogStoreError

    @classmethod
    def of(cls, log: RecoveredLog) -> Self | None:
        """Return the damage of a log, None where it is whole as far as it had to be read."""
        return None if log.damage is None else cls(log.log_end_offset, log.damage)

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints: where the log ends for it, and where the damage is."""
        place = {"file": self.error.file, "position": self.error.position, "offset": self.error.offset}
        return {"end_offset": self.end_offset, **place, "message": str(self.error)}

    def __str__(self) -> str:
        return f"its log counts as ending at offset {self.end_offset:,}: {self.error}"
