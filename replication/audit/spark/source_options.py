"""The options of the `kafka-log` format: each is checked, and none is passed over."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from epoch.history import MAX_OFFSET
from logstore.topic_partition import DirectoryMark, TopicPartition, is_partition_directory_name, parse_directory_name
from replication.audit.spark.selection import Selection
from replication.audit.spark.tables import BATCHES, RECORDS, Columns
from replication.errors import NotAllowedError, UnknownOptionError

ROWS: Final[Mapping[str, Columns]] = {"batches": BATCHES, "records": RECORDS}
OPTIONS: Final = ("rows", "columns", "topics", "partitions", "first_offset", "last_offset")
_LOADED: Final = ("path", "paths")
"""How Spark hands over what `load` is given: one string, or a list of them as JSON."""
_OFFSET: Final = re.compile(r"\d{1,19}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What is to be read, and which columns of it."""

    paths: tuple[str, ...]
    is_records: bool
    columns: Columns
    """Those that are asked for, in that order."""
    selection: Selection

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """Read the options, whose names Spark has turned into small letters.

        Raises UnknownOptionError, NotAllowedError.

        >>> SourceOptions.of({"path": "/backup/broker-1", "topics": "orders-*"}).selection.topics
        ('orders-*',)
        """
        for name in options:
            if name not in {*OPTIONS, *_LOADED}:
                raise UnknownOptionError(name, OPTIONS)
        rows = options.get("rows", "batches")
        if rows not in ROWS:
            raise _not_allowed("rows", rows, " or ".join(ROWS))
        first, last = _offset(options, "first_offset", 0), _offset(options, "last_offset", MAX_OFFSET)
        if first > last:
            raise _not_allowed("last_offset", str(last), f"an offset from first_offset on, which is {first}")
        selection = Selection(_names(options, "topics"), _partitions(options), first, last)
        return cls(_paths(options), rows == "records", _columns(options, ROWS[rows]), selection)


def _paths(options: Mapping[str, str]) -> tuple[str, ...]:
    allowed = "one [NAME=]URI, or a list of them: load('/backup/broker-1')"
    if "paths" not in options:
        if "path" not in options:
            raise _not_allowed("path", None, allowed)
        return (options["path"],)
    try:
        paths = json.loads(options["paths"])
    except ValueError:
        paths = None
    if not isinstance(paths, list) or not paths or not all(isinstance(path, str) for path in paths):
        raise _not_allowed("paths", options["paths"], allowed)
    return tuple(paths)


def _columns(options: Mapping[str, str], table: Columns) -> Columns:
    names = _names(options, "columns") or tuple(table)
    for place, name in enumerate(names):
        if name not in table:
            raise _not_allowed("columns", name, ", ".join(table))
        if name in names[:place]:
            raise _not_allowed("columns", options["columns"], "names of columns, each of them once")
    return {name: table[name] for name in names}


def _partitions(options: Mapping[str, str]) -> frozenset[TopicPartition]:
    return frozenset(map(_partition, _names(options, "partitions")))


def _partition(name: str) -> TopicPartition:
    if not is_partition_directory_name(name) or parse_directory_name(name).mark is not DirectoryMark.NONE:
        raise _not_allowed("partitions", name, "topics with their partitions, such as orders-0,orders-1")
    return parse_directory_name(name).topic_partition


def _names(options: Mapping[str, str], option: str) -> tuple[str, ...]:
    """Take names apart that have commas between; one name at least, where the option is there."""
    if option not in options:
        return ()
    names = tuple(name.strip() for name in options[option].split(","))
    if not all(names):
        raise _not_allowed(option, options[option], "names with commas between; leave it out for all")
    return names


def _offset(options: Mapping[str, str], option: str, default: int) -> int:
    text = options.get(option, str(default))
    if not _OFFSET.fullmatch(text) or int(text) > MAX_OFFSET:
        raise _not_allowed(option, text, f"offsets from 0 to {MAX_OFFSET}")
    return int(text)


def _not_allowed(option: str, value: str | None, allowed: str) -> NotAllowedError:
    return NotAllowedError(f"option {option} of kafka-log", value, allowed)
