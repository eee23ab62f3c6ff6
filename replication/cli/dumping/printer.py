"""How a dump is written: as lines of text, or as lines of JSON."""

import base64
import json
from collections.abc import Mapping
from typing import Final, Protocol

from logstore.batch.any_batch import Batch
from logstore.batch.record import Record
from logstore.batch.record_lines import escape, json_line, text_line
from logstore.text.record_mask import RecordMask
from replication.base.json_object import SCHEMA_VERSION
from replication.cli.dumping.batch_lines import VARYING, BatchLines
from replication.cli.output.failure import error_as_json
from replication.cli.output.printing import Output, json_text, shown

Fields = Mapping[str, object]
Lines = bytes | bytearray | memoryview

_RECORD_KINDS: Final = frozenset({"control_record", "metadata_record"})
"""Entries that are records of a batch."""


class Printer(Protocol):
    """Writes what is found in files; knows whether any of it was damage."""

    is_json: bool
    found_damage: bool
    mask: RecordMask | None
    """What contents of records are shown through."""
    record_prefix: bytes
    """What goes before a record's offset in its line."""

    def begin(self, file: str) -> None:
        """Start with the next file."""
        ...

    def entry(self, kind: str, fields: Fields) -> None:
        """Write one of the entries that files of this kind are made of."""
        ...

    def note(self, kind: str, fields: Fields) -> None:
        """Write something other than an entry."""
        ...

    def damage(self, error: Exception, remark: str = "") -> None:
        """Write what is wrong where."""
        ...

    def failure(self, error: Exception) -> None:
        """Write what could not be read, which was said on standard error too."""
        ...

    def batch_line(self, batch: Batch, *, is_valid: bool) -> bytes:
        """Give the line of a batch."""
        ...

    def record_line(self, record: Record, sequence: int) -> bytes:
        """Give the line of a record."""
        ...

    def write(self, lines: Lines) -> None:
        """Write finished lines."""
        ...


class TextPrinter:
    """Writes `name: value` pairs, one batch, record or entry a line. Records are indented by a bar."""

    is_json = False
    record_prefix = b"| offset: "

    def __init__(self, out: Output, *, headings: bool, mask: RecordMask | None = None) -> None:
        """Write to `out`, each file under a heading if requested."""
        self._out = out
        self.mask = mask
        self._headings = headings
        self._files = 0
        self._batches = BatchLines(lambda fields: _pairs(fields) + "\n", shows_crc=mask is None)
        self.found_damage = False

    def begin(self, file: str) -> None:
        """See `Printer`."""
        if self._headings:
            self._line(f"{chr(10) if self._files else ''}file: {shown(file)}")
        self._files += 1

    def entry(self, kind: str, fields: Fields) -> None:
        """See `Printer`."""
        self._line(("| " if kind in _RECORD_KINDS else "") + _pairs(fields))

    def note(self, kind: str, fields: Fields) -> None:
        """See `Printer`."""
        self._line(f"{kind}: {_pairs(fields)}")

    def damage(self, error: Exception, remark: str = "") -> None:
        """See `Printer`."""
        self.found_damage = True
        self._line(f"damage: {shown(str(error))}{remark and '; '}{remark}")

    def failure(self, error: Exception) -> None:
        """See `Printer`: lines of text need no more than standard error has."""

    def batch_line(self, batch: Batch, *, is_valid: bool) -> bytes:
        """See `Printer`."""
        return self._batches.line(batch, is_valid=is_valid)

    def record_line(self, record: Record, sequence: int) -> bytes:
        """See `Printer`."""
        return text_line(self.record_prefix, record, sequence, self.mask)

    def write(self, lines: Lines) -> None:
        """See `Printer`."""
        self._out.write(lines)

    def _line(self, text: str) -> None:
        self._out.write(text.encode() + b"\n")


class JsonPrinter:
    """Writes one object a line, each with the `file` that it is about and its `kind`."""

    is_json = True

    def __init__(self, out: Output, *, mask: RecordMask | None = None) -> None:
        """Write to `out`."""
        self._out = out
        self.mask = mask
        self._file = self._prefix = ""
        self._batches = BatchLines(self._compose, shows_crc=mask is None)
        self.record_prefix = b""
        self.found_damage = False

    def begin(self, file: str) -> None:
        """See `Printer`."""
        self._file = file
        self._prefix = json_text({"schema_version": SCHEMA_VERSION, "file": file}).removesuffix("}")
        self._batches = BatchLines(self._compose, shows_crc=self.mask is None)
        self.record_prefix = f'{self._prefix}, "kind": "record", "offset": '.encode()

    def entry(self, kind: str, fields: Fields) -> None:
        """See `Printer`."""
        members = dict(_json_member(name, value) for name, value in fields.items())
        self._write({"file": self._file, "kind": kind, **members})

    def note(self, kind: str, fields: Fields) -> None:
        """See `Printer`."""
        self.entry(kind, fields)

    def damage(self, error: Exception, remark: str = "") -> None:
        """See `Printer`."""
        self.found_damage = True
        message = f"{error}{remark and '; '}{remark}"
        place: Fields = {"file": self._file}
        self._write({**place, "kind": "damage", **error_as_json(error, message), **place})

    def failure(self, error: Exception) -> None:
        """See `Printer`."""
        self._write({"file": None, "kind": "error", **error_as_json(error)})

    def batch_line(self, batch: Batch, *, is_valid: bool) -> bytes:
        """See `Printer`."""
        return self._batches.line(batch, is_valid=is_valid)

    def record_line(self, record: Record, sequence: int) -> bytes:
        """See `Printer`."""
        return json_line(self.record_prefix, record, sequence, self.mask)

    def write(self, lines: Lines) -> None:
        """See `Printer`."""
        self._out.write(lines)

    def _compose(self, fields: Fields) -> str:
        """Make the template of a batch's line; numbers take the place of the quoted placeholders."""
        prefix = self._prefix.replace("%", "%%")
        members = json.dumps(fields).replace(f'"{VARYING}"', VARYING)
        return f'{prefix}, "kind": "batch", {members[1:]}\n'

    def _write(self, members: Fields) -> None:
        self._out.write(json_text({"schema_version": SCHEMA_VERSION, **members}).encode() + b"\n")


def _json_member(name: str, value: object) -> tuple[str, object]:
    """Give bytes as the lines of records do."""
    if not isinstance(value, bytes):
        return name, value
    try:
        return name, value.decode()
    except UnicodeDecodeError:
        return f"{name}_base64", base64.b64encode(value).decode()


def _pairs(fields: Fields) -> str:
    return " ".join(f"{name}: {_spelled(value)}" for name, value in fields.items())


def _spelled(value: object) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (list, dict)):
        return json.dumps(value)
    return escape(value).decode() if isinstance(value, bytes) else shown(str(value))
