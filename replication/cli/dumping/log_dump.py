"""Dumps a log file: its batches, and the records in them if requested."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from logstore.batch.any_batch import Batch
from logstore.batch.batch_attributes import LAST_SEQUENCE, NO_SEQUENCE
from logstore.batch.control import ControlRecord, ControlType
from logstore.batch.record import Record
from logstore.errors import CorruptControlRecordError, LogStoreError
from logstore.file_name import FileKind
from logstore.offline.offline_log_directory import BOOTSTRAP_CHECKPOINT_NAME
from replication.base.metadata_partition import METADATA_PARTITION
from replication.cli.dumping.log_reading import DamagedGap, Gap, read_log
from replication.cli.dumping.offset_range import OffsetRange
from replication.cli.dumping.printer import Fields, Printer
from replication.cli.output.printing import Advance
from replication.records.metadata.errors import MetadataError

METADATA_DIRECTORY_NAME: Final = str(METADATA_PARTITION)
SMALL_LOG: Final = 4 << 20
"""Bytes of a log whose records plain Python prints before numba were loaded."""


def dump_log(
    path: Path, printer: Printer, offsets: OffsetRange, *, records: bool, progress: Advance | None = None
) -> None:
    """Print the batches of a log file that have any of the offsets, with their records if requested. Raises OSError.

    `progress` is called with the bytes of each batch.
    """
    items = read_log(path)
    if progress is not None:
        items = _watched(items, progress)
    if offsets != OffsetRange():
        items = (item for item in items if _is_wanted(item, offsets))
    if not records:
        for item in items:
            _write_item(item, printer)
    elif _holds_metadata(path) and not _masks_values(printer):
        for item in items:
            _write_item(item, printer)
            _write_metadata(item, printer, offsets)
    elif printer.mask is not None or path.stat().st_size <= SMALL_LOG:
        for item in items:
            _write_item(item, printer)
            _write_records(item, printer, offsets)
    else:
        _render_records(items, printer, offsets)


def _masks_values(printer: Printer) -> bool:
    """Return whether values are masked, of which metadata and control records consist."""
    return printer.mask is not None and printer.mask.values


def _watched(items: Iterator[Batch | Gap], progress: Advance) -> Iterator[Batch | Gap]:
    for item in items:
        yield item
        progress(item.size)


def _holds_metadata(path: Path) -> bool:
    """Return whether a log holds the cluster's metadata, by its name; copies of segments keep their directory."""
    snapshot = path.name == BOOTSTRAP_CHECKPOINT_NAME or path.suffix == f".{FileKind.METADATA_SNAPSHOT.value}"
    return snapshot or path.absolute().parent.name == METADATA_DIRECTORY_NAME


def _is_wanted(item: Batch | Gap, offsets: OffsetRange) -> bool:
    if isinstance(item, Gap):
        return True
    try:
        return offsets.meets(item.base_offset, item.last_offset)
    except LogStoreError:  # what a message of magic 0 or 1 wraps cannot be read, nor its first offset
        last_offset: int = item.last_offset
        return last_offset >= offsets.start


def _write_item(item: Batch | Gap, printer: Printer) -> None:
    if isinstance(item, DamagedGap):
        end = item.position + item.size
        remark = "no batch follows" if item.is_last else f"the next batch begins at position {end:,}"
        printer.damage(item.error, remark)
    elif isinstance(item, Gap):
        printer.note("zero_tail", {"position": item.position, "size": item.size})
    else:
        printer.write(_batch_line(item, printer))


def _batch_line(batch: Batch, printer: Printer) -> bytes:
    is_valid = batch.is_valid()
    if not is_valid:
        printer.found_damage = True
    return printer.batch_line(batch, is_valid=is_valid)


def _render_records(items: Iterable[Batch | Gap], printer: Printer, offsets: OffsetRange) -> None:
    """Print batches and records with the kernels, and in plain Python what they cannot take."""
    from replication.cli.dumping.record_runs import RunRenderer, split_runs

    renderer = RunRenderer(printer.record_prefix, offsets, json=printer.is_json)
    for run in split_runs(items):
        if not isinstance(run, list):
            _write_item(run, printer)
            _write_records(run, printer, offsets)
            continue
        lines = [_batch_line(batch, printer) for batch in run]
        try:
            printer.write(renderer.render(run, lines))
        except LogStoreError:  # plain Python prints what comes before the damage, and reports where it is
            for batch, line in zip(run, lines, strict=True):
                printer.write(line)
                _write_records(batch, printer, offsets)


def _write_records(item: Batch | Gap, printer: Printer, offsets: OffsetRange) -> None:
    if isinstance(item, Gap):
        return
    try:
        for record in item.records():
            if not offsets.holds(record.offset):
                continue
            if item.is_control:
                printer.entry("control_record", _control_fields(item, record, printer))
            else:
                printer.write(printer.record_line(record, _sequence(item, record)))
    except LogStoreError as error:
        printer.damage(error)


def _write_metadata(item: Batch | Gap, printer: Printer, offsets: OffsetRange) -> None:
    """Print what metadata records say; after one that cannot be read go on with the next."""
    if isinstance(item, Gap) or item.is_control:
        _write_records(item, printer, offsets)
        return
    try:
        for record in item.records():
            if offsets.holds(record.offset):
                _write_metadata_record(item, record, printer)
    except LogStoreError as error:
        printer.damage(error)


def _write_metadata_record(batch: Batch, record: Record, printer: Printer) -> None:
    from replication.cli.dumping.metadata_records import metadata_fields  # its many classes load where they are needed

    try:
        printer.entry("metadata_record", metadata_fields(record))
    except MetadataError as error:
        printer.damage(error.with_position(file=batch.file, position=batch.position, offset=record.offset))


def _sequence(batch: Batch, record: Record) -> int:
    if batch.base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    return batch.base_sequence + record.offset - batch.base_offset & LAST_SEQUENCE


def _control_fields(batch: Batch, record: Record, printer: Printer) -> Fields:
    """Explain a control record; the value of one that a later Kafka has brought stays as it is.

    Where values are masked, only what ends a transaction is explained: others name hosts.
    """
    from replication.cli.dumping.metadata_records import control_message_fields

    try:
        control = ControlRecord.of(record)
        marker = control.end_transaction_marker()
        message = control_message_fields(record) if marker is None and not _masks_values(printer) else None
    except (CorruptControlRecordError, MetadataError) as error:
        raise error.with_position(file=batch.file, position=batch.position, offset=record.offset) from error
    fields = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "control_type": control.type.name.lower() if isinstance(control.type, ControlType) else control.type,
    }
    if marker is not None:
        return {**fields, "version": marker.version, "coordinator_epoch": marker.coordinator_epoch}
    value = control.value if printer.mask is None else printer.mask.value(control.value)
    return {**fields, **(message or {"version": control.version, "value": value})}
