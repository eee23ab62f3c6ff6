"""Gives the records of batches as rows: all, or those that a consumer of committed ones is given."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns
from logstore.offline.columns.decoded_records import (
    Decoded,
    Unreadable,
    counted_records,
    decoded_records,
    is_countable,
)
from logstore.offline.columns.masked_rows import masked_rows
from logstore.offline.log_file import LogFile
from logstore.text.record_mask import RecordMask
from replication.copies.audit.log_rows.conditions.condition import ALWAYS
from replication.copies.audit.log_rows.corrupt_rows import CorruptRows, cannot_be_decoded, wrong_checksum
from replication.copies.audit.log_rows.record_rows import needs_records, record_rows
from replication.copies.audit.log_rows.selection import Selection
from replication.copies.audit.log_rows.transaction_outcomes import (
    COMMITTED,
    TransactionOutcomes,
    is_transactional_data,
)

Outcomes = Callable[[], TransactionOutcomes]
"""Reads how a log's transactions ended, once that is needed."""
_IS_ABORTED: Final = "is_aborted"


@dataclass(frozen=True, slots=True)
class RecordReader:
    """Reads records of one copy."""

    selection: Selection
    outcomes: Outcomes
    is_committed: bool
    """Whether control records, what was aborted, and all from the first open transaction on are left out."""
    mask: RecordMask | None = None
    """What contents are given through; what is asked for is found by the contents themselves."""

    def rows(self, log: LogFile, columns: BatchColumns, corrupt: CorruptRows) -> Iterator[pa.RecordBatch]:
        """Give the records of batches, in the order of the file; see `SegmentReader`."""
        outcome = self._outcome(columns, corrupt.schema)
        wanted = self.outcomes().committed(columns) if self.is_committed else np.ones(len(columns), np.bool_)
        for group in _groups(columns.crc_valid):
            if not columns.crc_valid[group[0]]:
                for row in group.tolist():
                    place = int(columns.position[row]), int(columns.base_offset[row])
                    yield from corrupt.give(wrong_checksum(columns, row), *place)
                continue
            for records in self._decoded(log, columns, group[wanted[group]], corrupt.schema):
                if isinstance(records, Unreadable):
                    row = records.row
                    place = int(columns.position[row]), int(columns.base_offset[row])
                    yield from corrupt.give(cannot_be_decoded(columns, row, records.error), *place)
                else:
                    chosen = self.selection.records(records, columns)
                    made = record_rows(chosen, columns, outcome, corrupt.constants, corrupt.schema)
                    yield from made if self.mask is None else (masked_rows(each, self.mask) for each in made)
                del records  # before the next are decompressed

    def _decoded(self, log: LogFile, columns: BatchColumns, rows: NDArray[np.int64], schema: pa.Schema) -> Decoded:
        """Decode records; where headers have all that is asked for, only count them."""
        if not headers_suffice(schema.names, self.selection):
            yield from decoded_records(log.data, columns, rows, in_order=True)
            return
        countable = is_countable(columns)[rows]
        yield from counted_records(columns, rows[countable])
        yield from decoded_records(log.data, columns, rows[~countable], in_order=True)

    def _outcome(self, columns: BatchColumns, schema: pa.Schema) -> NDArray[np.int8]:
        """Return for each batch how its transaction ended, where that is asked for."""
        if _IS_ABORTED not in schema.names or not is_transactional_data(columns).any():
            return np.full(len(columns), COMMITTED, np.int8)
        return self.outcomes().of(columns)


def headers_suffice(columns: Iterable[str], selection: Selection) -> bool:
    """Return whether the headers of batches have all that is asked for of their records."""
    return selection.condition == ALWAYS and not needs_records(columns)


def _groups(valid: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Divide rows into those that follow one another and are alike."""
    rows = np.arange(len(valid))
    return [group for group in np.split(rows, np.flatnonzero(np.diff(valid)) + 1) if len(group)]
