"""Gives batches as rows: all, or those with something in them for a consumer of committed records."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from logstore.batch.columns import BatchColumns
from logstore.offline.columns.decoded_records import Unreadable, decoded_records
from logstore.offline.log_file import LogFile
from replication.copies.audit.log_rows.batch_rows import batch_rows
from replication.copies.audit.log_rows.corrupt_rows import CorruptRows, cannot_be_decoded
from replication.copies.audit.log_rows.selection import Selection
from replication.copies.audit.log_rows.transaction_outcomes import TransactionOutcomes


@dataclass(frozen=True, slots=True)
class BatchReader:
    """Reads batches of one copy."""

    selection: Selection
    outcomes: Callable[[], TransactionOutcomes]
    """Reads how the log's transactions ended, once that is needed."""
    is_committed: bool
    """Whether markers, what was aborted, and all from the first open transaction on are left out."""

    def rows(self, log: LogFile, columns: BatchColumns, corrupt: CorruptRows) -> Iterator[pa.RecordBatch]:
        """Give batches as rows, in the order of the file; see `SegmentReader`."""
        if self.is_committed:
            columns = columns.where(self.outcomes().committed(columns) | ~columns.crc_valid)
        undecodable: dict[int, str] = {}
        in_doubt = self.selection.in_doubt(columns)
        if len(in_doubt):
            wanted = np.ones(len(columns), np.bool_)
            wanted[in_doubt] = False
            for records in decoded_records(log.data, columns, in_doubt):
                if isinstance(records, Unreadable):
                    row = records.row
                    undecodable[int(columns.position[row])] = cannot_be_decoded(columns, row, records.error)
                    wanted[row] = True
                else:
                    wanted[self.selection.records(records, columns).batch] = True
                del records  # before the next are decompressed
            columns = columns.where(wanted)
        yield from batch_rows(columns, corrupt, undecodable)
