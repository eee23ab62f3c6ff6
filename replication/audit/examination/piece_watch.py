"""What the pass over a part of a log is watched for."""

from collections.abc import Iterator

import numpy as np

from logstore.verify import Finding
from logstore.verify.finding import Reporter
from logstore.verify.log_pass import Chunk, SilentCheck
from logstore.verify.record_check import RecordCheck
from replication.audit.examination.range_digests import RangeDigests


class PieceWatch(SilentCheck):
    """Keeps the digests of what it sees, the batches whose checksums do not match, and what is wrong with records."""

    def __init__(self, report: Reporter, *, records: bool) -> None:
        self.digests = RangeDigests()
        self.corrupt: list[tuple[str, int]] = []
        """Files and positions."""
        self.findings: list[Finding] = []
        self._record_check = RecordCheck(report) if records else None

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """See `Check`."""
        self.digests.add(chunk.columns)
        wrong = np.flatnonzero(~chunk.columns.crc_valid)
        file = chunk.segment.log_path.name
        self.corrupt += [(file, position) for position in chunk.columns.position[wrong].tolist()]
        if self._record_check:
            self.findings += self._record_check.batches(chunk)
        yield from ()
