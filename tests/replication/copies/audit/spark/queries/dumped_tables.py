"""What `epochlog dump --records --json` prints of logs, as pandas tables with the columns of the data source."""

import base64
import json
import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from replication.copies.audit.tables import BATCHES, RECORDS
from tests.replication.cli.command import epochlog

Line = dict[str, Any]
NOT_TOLD: Final = ("attributes",)
"""What `dump` does not print of a batch."""
HELPERS: Final = ("is_committed", "record_times")
"""Columns that the data source does not have, for what its options choose."""
_TIMESTAMP_TYPES: Final = {"NoTimestampType": -1, "CreateTime": 0, "LogAppendTime": 1}
_CONTROL_TYPES: Final = {"abort": 0, "commit": 1}
_MICROSECONDS: Final = 1_000
_BEYOND: Final = 2**63 - 1


class DumpedLogs:
    """The tables of what some roots hold. `corrupt` says whether, not why; timestamps are microseconds."""

    def __init__(self, roots: Sequence[Path]) -> None:
        files: defaultdict[Path, list[Line]] = defaultdict(list)
        for line in map(json.loads, epochlog("dump", "--records", "--json", *roots).out.splitlines()):
            if line["file"].endswith(".log"):
                files[Path(line["file"])].append(line)
        records: list[Line] = []
        batches: list[Line] = []
        for directory in sorted({file.parent for file in files}):
            rows = [row for file in sorted(directory.glob("*.log")) for row in _rows_of(file, files[file])]
            _decide(rows)
            records += [row for row in rows if row["kind"] != "batch"]
            batches += [row for row in rows if row["kind"] == "batch" or _is_no_batch(row)]
        self.records = _table(records, [*RECORDS, HELPERS[0]])
        told = [name for name in BATCHES if name not in NOT_TOLD]
        self.batches = _table(batches, [*told, *HELPERS])


def _is_no_batch(row: Line) -> bool:
    return row["kind"] == "damage" and row["base_offset"] is None


def _rows_of(file: Path, lines: Sequence[Line]) -> Iterator[Line]:
    """Give each batch as a row, and then its records, or one row about what is corrupt."""
    topic, partition = file.parent.name.rsplit("-", 1)
    place = {
        "replica": file.parent.parent.name,
        "topic": topic,
        "partition": int(partition),
        "segment": int(file.stem),
        "file": file.name,
    }
    ends = [*(line["position"] for line in lines if line["kind"] == "batch"), file.stat().st_size]
    head: Line = {}
    records: list[Line] = []
    for line in lines:
        is_of_batch = line["kind"] != "batch" and head and line.get("position", head["position"]) == head["position"]
        if not is_of_batch:
            yield from records
            records = []
        if line["kind"] == "batch":
            head = {**_head(line), **place}
            yield head
            if head["corrupt"]:
                yield _corrupt(place, line["position"], line["base_offset"])
        elif not is_of_batch:
            size = min(end for end in ends if end > line["position"]) - line["position"]
            yield {**_corrupt(place, line["position"], None), "size": size}
        elif not head["corrupt"]:
            # What could be read before the damage is shown there, but a batch is given whole or not at all.
            is_damage = line["kind"] == "damage"
            unreadable = {**_corrupt(place, head["position"], head["base_offset"]), "last_offset": head["last_offset"]}
            row = unreadable if is_damage else {**head, **_record(line)}
            records = [row] if is_damage else [*records, row]
    yield from records


def _head(line: Line) -> Line:
    return {
        **line,
        "leader_epoch": line["partition_leader_epoch"],
        "crc_valid": line["is_valid"],
        "timestampType": _TIMESTAMP_TYPES[line["timestamp_type"]],
        "corrupt": not line["is_valid"],
    }


def _corrupt(place: Line, position: int, base_offset: int | None) -> Line:
    return {**place, "kind": "damage", "position": position, "base_offset": base_offset, "corrupt": True}


def _record(line: Line) -> Line:
    is_control = line["kind"] == "control_record"
    return {
        "key": _control_key(line) if is_control else _content(line, "key"),
        "value": _control_value(line) if is_control else _content(line, "value"),
        "offset": line["offset"],
        "timestamp": line["timestamp"] * _MICROSECONDS if abs(line["timestamp"]) <= _BEYOND // _MICROSECONDS else None,
        "timestamp_ms": line["timestamp"],
        "sequence": line.get("sequence", -1),
        "headers": tuple((each["key"], _content(each, "value")) for each in line.get("headers", ())) or None,
        "marks": line.get("control_type"),
        "is_aborted": False,
        "kind": line["kind"],
    }


def _content(line: Line, name: str) -> bytes | None:
    if f"{name}_base64" in line:
        return base64.b64decode(line[f"{name}_base64"])
    return None if line[name] is None else str(line[name]).encode()


def _control_key(line: Line) -> bytes:
    return struct.pack(">hh", 0, _CONTROL_TYPES[line["control_type"]])


def _control_value(line: Line) -> bytes:
    return struct.pack(">hi", line["version"], line["coordinator_epoch"])


def _decide(rows: Sequence[Line]) -> None:
    """Say of each record of a partition whether its transaction was aborted, and what consumers of committed ones get.

    A marker decides on its producer's records before it; one that may be lost to damage leaves them undecided.
    """
    waiting: defaultdict[int, list[Line]] = defaultdict(list)
    open_from: dict[int, int] = {}
    times: list[int] = []
    for row in rows:
        if row["kind"] == "batch":
            row["record_times"] = times = []
            row["is_aborted"] = False
        elif row["kind"] != "damage":
            times.append(row["timestamp_ms"])
        if _may_hide_a_marker(row):
            waiting.clear()
        if row["kind"] == "batch" and row["is_transactional"] and not row["is_control"]:
            open_from.setdefault(row["producer_id"], row["base_offset"])
        if row["kind"] == "control_record":
            for each in waiting.pop(row["producer_id"], ()):
                each["is_aborted"] = row["marks"] == "abort"
            open_from.pop(row["producer_id"], None)
        if row["kind"] in {"record", "batch"} and row["is_transactional"] and not row["is_control"]:
            row["is_aborted"] = None
            waiting[row["producer_id"]].append(row)
    stable = min(open_from.values(), default=_BEYOND)
    for row in rows:
        # A wrong checksum is told in any case; what cannot be decoded where consumers would be given it.
        is_told = row["kind"] == "damage" and "last_offset" not in row
        is_told |= row["kind"] == "batch" and row["corrupt"]
        is_kept = row["kind"] == "record" or (row["kind"] == "batch" and not row["is_control"])
        is_data = row["kind"] == "damage" or (is_kept and row["is_aborted"] is False)
        row["is_committed"] = is_told or (is_data and row["last_offset"] < stable)


def _may_hide_a_marker(row: Line) -> bool:
    """Bytes that are no batch may, and a marker whose checksum is wrong; a batch that is none may not."""
    return _is_no_batch(row) or (
        row["kind"] == "batch" and row["corrupt"] and (row["is_control"] or row["size"] <= LARGEST_MARKER)
    )


LARGEST_MARKER: Final = 128
"""A batch of more bytes is none, whatever its damaged header says."""


def _table(rows: Sequence[Line], columns: Sequence[str]) -> pd.DataFrame:
    """Make a table in which nulls are pandas' NA, and whole numbers stay whole."""
    return pd.DataFrame({name: column([row.get(name) for row in rows]) for name in columns})


def column(values: Sequence[Any]) -> pd.Series:
    """Give values of one kind the type in which pandas has nulls for them."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean")
    if kinds == {int}:
        return pd.Series(values, dtype="Int64")
    return pd.Series([pd.NA if value is None else value for value in values], dtype="object")
