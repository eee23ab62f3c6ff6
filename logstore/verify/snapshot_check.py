"""A snapshot of the cluster's metadata is whole: batches between a header and a footer (KIP-630).

So are the `.checkpoint` files of `__cluster_metadata-0` and a root's `bootstrap.checkpoint`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import CONTROL_BIT
from logstore.batch.columns import BatchColumns, StopReason
from logstore.batch.control import ControlRecord, ControlType
from logstore.errors import LogStoreError
from logstore.offline.log_file import LogFile
from logstore.verify.finding import Finding, Reporter

ADVICE: Final = (
    "a controller cannot load this snapshot; remove it if a later or an earlier one is there: a controller fetches "
    "what it lacks from the leader"
)


def check_snapshot(path: Path, report: Reporter, *, epoch: int) -> Iterator[Finding]:
    """Read the file's batches, which are those of a log file, and report the first that is wrong.

    All of them carry the snapshot's `epoch`.
    """
    try:
        with LogFile.open(path) as log:
            fault = _first_fault(log, epoch)
    except FileNotFoundError:
        return  # a later snapshot took its place since the directory was listed
    except OSError as error:
        yield report.unreadable(error, "its batches were not checked", file=path.name)
        return
    if fault is not None:
        position, what = fault
        yield report.error("metadata-snapshot-corrupt", f"{what}: {ADVICE}", file=path.name, position=position)


def _first_fault(log: LogFile, epoch: int) -> tuple[int, str] | None:
    next_offset, ended = 0, False
    for columns in log.scan():
        fault = _header_fault(columns, next_offset, epoch)
        if fault is not None:
            return fault
        fault, ended = _control_fault(log, columns, ended=ended)
        if fault is not None:
            return fault
        if columns.stop not in {StopReason.END, StopReason.MORE}:
            return columns.next_position, "no whole batch begins here"
        if len(columns):
            next_offset = int(columns.last_offset[-1]) + 1
    if not ended:
        return log.size, "the file ends without the record that ends a snapshot"
    return None


def _header_fault(columns: BatchColumns, next_offset: int, epoch: int) -> tuple[int, str] | None:
    expected = np.empty(len(columns), np.int64)
    expected[:1] = next_offset
    expected[1:] = columns.last_offset[:-1] + 1
    for wrong, what in (
        (~columns.crc_valid, "checksum mismatch in a batch"),
        (columns.base_offset != expected, "a batch's offset does not follow the previous batch"),
        (columns.leader_epoch != epoch, f"a batch has another epoch than the snapshot, {epoch}"),
    ):
        rows = np.flatnonzero(wrong)
        if len(rows):
            return int(columns.position[rows[0]]), what
    return None


def _control_fault(log: LogFile, columns: BatchColumns, *, ended: bool) -> tuple[tuple[int, str] | None, bool]:
    """Look for a fault in header and footer, the first and last record; return also whether the footer was reached."""
    for position, attributes in zip(columns.position.tolist(), columns.attributes.tolist(), strict=True):
        if ended:
            return (position, "a batch follows the record that ends the snapshot"), ended
        if not attributes & CONTROL_BIT and position > 0:
            continue
        try:
            types = [_type_of(ControlRecord.of(record)) for record in RecordBatch(log.data, position).records()]
        except LogStoreError as error:
            return (position, error.what), ended
        if None in types or (ControlType.SNAPSHOT_HEADER in types) != (position == 0):
            return (
                position,
                "a snapshot does not begin this way, or a control record is not allowed here",
            ), ended
        ended = ControlType.SNAPSHOT_FOOTER in types
    return None, ended


def _type_of(control: ControlRecord) -> ControlType | None:
    """Return the type of a control record that is allowed in a snapshot, if its value has the version it must."""
    known = {
        ControlType.SNAPSHOT_HEADER,
        ControlType.SNAPSHOT_FOOTER,
        ControlType.KRAFT_VERSION,
        ControlType.KRAFT_VOTERS,
    }
    if control.type not in known or control.version != 0 or control.value is None or control.value[:2] != b"\0\0":
        return None
    return ControlType(control.type)
