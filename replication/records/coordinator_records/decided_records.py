"""The records of a coordinator's topic that count: those of open or aborted transactions do not."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from logstore.batch.control import ControlRecord, ControlType
from logstore.batch.record import Record


@dataclass(slots=True)
class DecidedRecords:
    """Gives each record once it is decided, while the records of a partition go by in order."""

    _pending: dict[int, list[Record]] = field(default_factory=dict)
    """What each producer has written in its open transaction."""

    def add(self, record: Record, *, producer_id: int, is_transactional: bool, is_control: bool) -> Iterator[Record]:
        """Add the next record of the log, and yield those that are now decided. Raises CorruptControlRecordError."""
        if is_control:
            pending = self._pending.pop(producer_id, [])
            if ControlRecord.of(record).type is ControlType.COMMIT:
                yield from pending
        elif is_transactional:
            self._pending.setdefault(producer_id, []).append(record)
        else:
            yield record
