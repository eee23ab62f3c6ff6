"""The segments, or leader epochs, of whole copies as rows: what the audit tells of each copy by itself."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from logstore.errors import CorruptBatchError, LogStoreError
from logstore.offline.partition_directory import PartitionDirectory
from replication.audit.examination.examination import EpochRow, SegmentRow, examine
from replication.audit.examination.summarizing import NOT_READ
from replication.audit.log_rows.corrupt_rows import ReadMode
from replication.audit.replica_finding import ReplicaFinding
from replication.audit.snapshots.work import Copy

_CORRUPT: Final = frozenset({"corrupt-batch", "torn-batch", "unreadable-bytes", "zero-tail"})
"""Kinds of findings about what the rows of batches call corrupt."""


def copy_rows(copy: Copy, directory: Path, kind: str, mode: ReadMode, schema: pa.Schema) -> pa.RecordBatch:
    """Read a copy, and give its `segments` or its `epochs` as rows.

    Raises LogStoreError where a file cannot be read, and in mode FAILFAST where a log is damaged.
    """
    partition = PartitionDirectory.open(directory, root=directory.parent)
    found = examine(partition, copy.replica)
    _refuse(found.findings, directory, mode)
    rows: Sequence[SegmentRow | EpochRow] = found.segments if kind == "segments" else found.epochs
    columns = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _refuse(findings: Sequence[ReplicaFinding], directory: Path, mode: ReadMode) -> None:
    """Raise for the first file that could not be read, and in mode FAILFAST for the first place in a log."""
    for each in sorted(findings, key=lambda each: (each.finding.file or "", each.finding.position or 0)):
        finding = each.finding
        file = directory / finding.file if finding.file else directory
        if finding.kind in NOT_READ:
            raise LogStoreError(finding.message, file=file, position=finding.position, offset=finding.offset)
        if mode is ReadMode.FAILFAST and finding.kind in _CORRUPT and finding.severity.is_damage:
            raise CorruptBatchError(finding.message, file=file, position=finding.position, offset=finding.offset)
