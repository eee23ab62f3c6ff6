"""Every record can be decoded, and is where its batch's header says."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from logstore.verify.finding import Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck

if TYPE_CHECKING:
    from logstore.offline.columns.record_faults import BatchFault


class RecordCheck(SilentCheck):
    """Decodes the records of all batches whose checksum is valid."""

    def __init__(self, report: Reporter, decoded: Collection[str] = ()) -> None:
        """Pass over the `.log` files that are named in `decoded`: their records were decoded before."""
        self._report = report
        self._decoded = decoded

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Decode them."""
        from logstore.offline.columns.record_faults import (  # noqa: PLC0415  numba loads on the first bulk operation
            FaultKind,
            record_faults,
        )

        if chunk.segment.log_path.name in self._decoded:
            return
        made = {
            FaultKind.UNREADABLE: _unreadable,
            FaultKind.MISPLACED: _misplaced,
            FaultKind.TIMESTAMP: _wrong_timestamp,
        }
        for fault in record_faults(chunk.log.data, chunk.columns, np.flatnonzero(chunk.columns.crc_valid)):
            yield made[fault.kind](self._report, chunk, fault)


class WrapperCheck(SilentCheck):
    """Finds wrapped sets of magic 0 and 1 that cannot be read: a scan of headers has read them, for their offsets."""

    def __init__(self, report: Reporter) -> None:
        self._report = report

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Look at those of which nobody knows how many messages they hold."""
        from logstore.offline.columns.record_faults import unreadable_batches  # noqa: PLC0415  as above

        rows = np.flatnonzero(chunk.columns.crc_valid & chunk.columns.is_unread)
        for fault in unreadable_batches(chunk.log.data, chunk.columns, rows) if len(rows) else ():
            yield _unreadable(self._report, chunk, fault)


def _unreadable(report: Reporter, chunk: Chunk, fault: "BatchFault") -> Finding:
    columns, row = chunk.columns, fault.row
    base, last = int(columns.base_offset[row]), int(columns.last_offset[row])
    refused = (
        ". A broker that has to recover this segment, as after a kill, may not start" if columns.is_unread[row] else ""
    )
    return report.error(
        "record-unreadable",
        f"{fault.what}: consumers cannot read the batch with offsets {base}..{last}, although its checksum is valid"
        f"{refused}",
        **_place(chunk, fault),
    )


def _misplaced(report: Reporter, chunk: Chunk, fault: "BatchFault") -> Finding:
    base, last = int(chunk.columns.base_offset[fault.row]), int(chunk.columns.last_offset[fault.row])
    return report.warning(
        "record-offset-wrong",
        f"{fault.what}: the batch with offsets {base}..{last} was written so, as its checksum is valid; consumers read "
        "it, and pass over what has an offset that they were at before",
        **_place(chunk, fault),
    )


def _wrong_timestamp(report: Reporter, chunk: Chunk, fault: "BatchFault") -> Finding:
    columns, row = chunk.columns, fault.row
    base, last = int(columns.base_offset[row]), int(columns.last_offset[row])
    return report.warning(
        "batch-header-wrong",
        f"the header of the batch with offsets {base}..{last} states the largest timestamp "
        f"{columns.max_timestamp[row]}, which is not that of its records, although its checksum is valid: it was "
        "written so, and retention and searches by time go wrong here; compare with another replica",
        **_place(chunk, fault),
    )


class _Place(TypedDict):
    file: str
    position: int
    offset: int


def _place(chunk: Chunk, fault: "BatchFault") -> _Place:
    columns, row = chunk.columns, fault.row
    return {
        "file": chunk.segment.log_path.name,
        "position": int(columns.position[row]) if fault.position is None else fault.position,
        "offset": int(columns.base_offset[row]),
    }
