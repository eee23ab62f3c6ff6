"""The records of one examined copy, from first to last, as far as they can be read."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from logstore.batch.any_batch import Batch
from logstore.batch.batches import read_batch
from logstore.batch.record import Record
from logstore.errors import LogStoreError
from logstore.verify import Finding
from logstore.verify.log_pass import Chunk, SilentCheck
from replication.base.errors import CopyUnreadableError
from replication.copies.audit.comparison.batch_reader import BatchReader
from replication.copies.audit.comparison.examined_copy import ExaminedCopy

Take = Callable[[Batch, Record], None]


def read_records(copy: ExaminedCopy, take: Take) -> None:
    """Call `take` for each record of a copy, with the batch that it is in.

    What cannot be read is passed over: the findings of the audit report it. So is the rest of a batch of which `take`
    cannot read a record, and raises LogStoreError.
    """
    with suppress(CopyUnreadableError):
        BatchReader(copy).read_all(_Records(take))


class _Records(SilentCheck):
    def __init__(self, take: Take) -> None:
        self._take = take

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """See `Check`."""
        for row in np.flatnonzero(chunk.columns.crc_valid).tolist():
            batch = read_batch(chunk.log.data, int(chunk.columns.position[row]))
            with suppress(LogStoreError):
                for record in batch.records():
                    self._take(batch, record)
        yield from ()
