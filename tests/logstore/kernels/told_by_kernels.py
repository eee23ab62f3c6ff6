"""What the kernels tell that a log is verified with. As a program: of the cases on its standard input."""

import pickle
import sys
from typing import Any, NamedTuple

import numpy as np

from logstore.batch.decoding.plain_records import PLAIN_RECORDS
from logstore.batch.record import Record
from logstore.errors import LogStoreError
from logstore.kernels.column_scan import COLUMNS, scan
from logstore.kernels.record_checks import check_records
from logstore.kernels.standalone import offset_index_agrees, time_index_agrees
from logstore.segment.read_view import ReadView
from logstore.verify.batch_totals import BatchTotals


class Case(NamedTuple):
    """A log and two indexes, whatever is in them."""

    log: bytes
    offset_index: bytes
    time_index: bytes
    base_offset: int


def told(case: Case) -> list[Any]:
    """Everything that they tell."""
    log, offsets, times = (np.frombuffer(each, np.uint8) for each in case[:3])
    batches = scan(log, check_crc=True)
    columns = {name: getattr(batches, name).tolist() for name in COLUMNS}
    found: list[Any] = [columns, batches.next_position, batches.stop, check_records(log, batches)]
    if len(batches):
        found.append(BatchTotals.by_kernel(batches))
    found.append(records_in(case.log))
    found.append(offset_index_agrees(offsets, case.base_offset, batches.position, batches.last_offset))
    reached = batches.base_offset, batches.last_offset, batches.max_timestamp
    return [*found, time_index_agrees(times, case.base_offset, *reached)]


def records_in(log: bytes) -> tuple[list[Record], str]:
    """The records up to an error, and the error."""
    PLAIN_RECORDS.records_left = 0
    records: list[Record] = []
    try:
        records.extend(ReadView(0, memoryview(log)).records())
    except LogStoreError as error:
        return records, str(error)
    return records, ""


if __name__ == "__main__":
    answers = list(map(told, pickle.load(sys.stdin.buffer)))  # noqa: S301  a test wrote it
    pickle.dump((answers, "numba" in sys.modules), sys.stdout.buffer)
