"""What was promised of an only copy is read as it was written, or its reader is told that it is gone."""

from typing import Protocol

from logstore.errors import LogStoreError, OffsetOutOfRangeError
from logstore.log.log import Log


class Written(Protocol):
    """What was written to a log, and what of that was promised."""

    written: dict[int, bytes]
    start: int
    promised: int


def check(history: Written, log: Log, *, may_cut: bool, end: int | None = None) -> int:
    """Look for all that was promised, below `end`; return of how much the reader was told that it is not there."""
    told = 0
    for offset in range(history.start, history.promised if end is None else min(history.promised, end)):
        if offset not in history.written:
            continue
        try:
            record = next(log.records(offset), None)
        except OffsetOutOfRangeError as error:
            told += 1
            if "in remote storage or lost" in str(error):
                continue
            assert may_cut, f"offset {offset} is not in the log any more"
            assert log.report.dropped, f"offset {offset} was cut, and is not in the report"
        except LogStoreError:
            told += 1
        else:
            if record is None:
                assert may_cut, f"offset {offset} is not in the log any more"
                assert log.report.dropped, f"offset {offset} was cut, and is not in the report"
                told += 1
                continue
            assert (record.offset, record.value) == (offset, history.written[offset])
    return told
