"""The options of the `kafka-log` format: each is checked, and none is passed over."""

import json
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, Self, TypeVar

from logstore.shown_text import shown
from logstore.text.address_secrets import take_in
from logstore.text.mask_salt import mask_salt
from logstore.text.record_mask import MaskForm, RecordMask
from logstore.topic_partition import DirectoryMark, TopicPartition, is_partition_directory_name, parse_directory_name
from replication.base.chosen_topics import is_pattern
from replication.base.errors import UnreadableLocationError
from replication.copies.audit.log_rows.conditions.column_condition import among
from replication.copies.audit.log_rows.conditions.condition import (
    AllOf,
    AnyOf,
    Compare,
    Condition,
    Matches,
    MatchesExpression,
)
from replication.copies.audit.log_rows.conditions.where import ALLOWED, WhereError, parse_where
from replication.copies.audit.log_rows.corrupt_rows import ReadMode
from replication.copies.audit.log_rows.options.kafka_names import SAME, in_our_names, unknown
from replication.copies.audit.log_rows.options.range_options import (
    RANGES,
    TIMES_BY_PARTITION,
    bounded_partitions,
    in_small_letters,
    range_conditions,
    read_ends,
    refused_option,
    time_conditions,
)
from replication.copies.audit.log_rows.options.read_end import ReadEnd
from replication.copies.audit.log_rows.selection import Selection
from replication.copies.audit.snapshots.work import MOST_TASKS
from replication.copies.audit.tables import BATCHES, EPOCHS, RECORDS, SEGMENTS, Columns

OPTIONS: Final = (
    "rows",
    "columns",
    "topics",
    "partitions",
    "replicas",
    "subscribePattern",
    *RANGES,
    *TIMES_BY_PARTITION,
    "where",
    "isolation",
    "mode",
    "failOnDataLoss",
    "taskBytes",
    "minPartitions",
    "maxRecordsPerPartition",
    "includeHeaders",
    "mask",
    "maskAs",
    "maskSalt",
    "pushdown",
)
OLD_NAMES: Final = {"first_offset": "startingOffsets", "last_offset": "endingOffsets"}
"""Options that go with the next version."""
_LOADED: Final = ("path", "paths")
"""How Spark hands over what `load` is given: one string, or a list of them as JSON."""
_ISOLATIONS: Final = {"read_uncommitted": False, "read_committed": True}
LONGEST_PATH: Final = 4_096
"""Characters. No system that is supported opens a longer one."""
_LONGEST_NAME: Final = 1_000
"""Characters. A topic has 249 at most; to compare with a pattern takes longer the longer it is."""
_PARTITIONS: Final = re.compile(r"(?P<topic>.+)-(?P<partition>(?:[^-\[\]]|\[[^\]]*\])+)", re.DOTALL)
"""A pattern of topics and one of their partitions, with the last dash between that stands in no brackets."""
_DIGITS: Final = re.compile(r"\d{1,19}", re.ASCII)
_FLAGS: Final = {"false": False, "true": True}
Value = TypeVar("Value")


class Rows(Enum):
    """What a row is."""

    BATCHES = "batches"
    RECORDS = "records"
    EPOCHS = "epochs"
    SEGMENTS = "segments"

    @property
    def are_of_logs(self) -> bool:
        """Whether a row is a part of a log, of which a part can be read."""
        return self in {Rows.BATCHES, Rows.RECORDS}


_TABLES: Final[Mapping[Rows, Columns]] = {
    Rows.BATCHES: BATCHES,
    Rows.RECORDS: RECORDS,
    Rows.EPOCHS: EPOCHS,
    Rows.SEGMENTS: SEGMENTS,
}


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What is to be read, and which columns of it."""

    paths: tuple[str, ...]
    rows: Rows
    columns: Columns
    """Those that are asked for, in that order."""
    selection: Selection
    named: Selection
    """The part of it that names of topics, partitions and replicas make up."""
    topics: tuple[str, ...]
    """As they are named; none where that is left open."""
    partitions: tuple[str, ...]
    replicas: tuple[str, ...]
    bounded: frozenset[TopicPartition]
    """The partitions for which offsets are named."""
    ends: Mapping[TopicPartition, tuple[ReadEnd, ...]]
    """Where reads ended that bound this one: the log must still have what stands before."""
    is_committed: bool
    """Whether records are those that a consumer of committed ones is given."""
    mode: ReadMode
    fails_on_loss: bool
    """Whether offsets that are missing, or come twice, end the read."""
    task_bytes: int | None
    min_tasks: int
    """About how many tasks there are at least."""
    task_records: int | None
    """About how many records a task reads at most."""
    mask: RecordMask | None
    """What contents of records are given through."""
    pushes_filters: bool

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """Read the options, whose names Spark has turned into small letters.

        Those that Spark's own source of Kafka has are taken under its names, too. Raises UnknownOptionError,
        NotAllowedError.

        >>> SourceOptions.of({"path": "/backup/broker-1", "topics": "orders-*"}).topics
        ('orders-*',)
        """
        for value in options.values():
            take_in(value)
        given = _named(options)
        rows = _chosen(given, "rows", {each.value: each for each in Rows}, Rows.BATCHES)
        topics, partitions, replicas = (_names(given, name) for name in ("topics", "partitions", "replicas"))
        names: list[Condition] = []
        if topics:
            names.append(AnyOf(tuple(Matches("topic", pattern) for pattern in topics)))
        if partitions:
            names.append(AnyOf(tuple(map(_is_partition, partitions))))
        if replicas:
            names.append(among("replica", replicas))
        if "subscribePattern" in given:
            names.append(_subscribed(given["subscribePattern"]))
        conditions = [*names, *range_conditions(given), *time_conditions(given)]
        if "where" in given:
            conditions.append(_where(given["where"]))
        if not rows.are_of_logs:
            _refuse_parts(given, rows)
        return cls(
            paths=_paths(options),
            rows=rows,
            columns=_columns(given, _TABLES[rows], has_headers=_chosen(given, "includeHeaders", _FLAGS, default=True)),
            selection=Selection(AllOf(tuple(conditions))),
            named=Selection(AllOf(tuple(names))),
            topics=topics,
            partitions=partitions,
            replicas=replicas,
            bounded=bounded_partitions(given),
            ends=read_ends(given),
            is_committed=_chosen(given, "isolation", _ISOLATIONS, default=False),
            mode=_chosen(given, "mode", {each.value: each for each in ReadMode}, _mode_of(rows)),
            fails_on_loss=_chosen(given, "failOnDataLoss", _FLAGS, default=rows is Rows.RECORDS),
            task_bytes=_number(given, "taskBytes", "a whole number of bytes from 1 on"),
            min_tasks=_number(given, "minPartitions", f"a whole number of tasks from 1 to {MOST_TASKS:,}", MOST_TASKS)
            or 1,
            task_records=_number(given, "maxRecordsPerPartition", "a whole number of records from 1 on"),
            mask=_mask(given, rows),
            pushes_filters=_chosen(given, "pushdown", _FLAGS, default=False),
        )

    def where(self, condition: Condition) -> Self:
        """Ask only for what fulfils another condition too."""
        return replace(self, selection=self.selection.and_also(condition))


def _named(options: Mapping[str, str]) -> dict[str, str]:
    """Give options their names as they are documented, and old ones those that they have now."""
    known = {name.lower(): name for name in (*OPTIONS, *OLD_NAMES)}
    named = {}
    for name, value in in_our_names(options).items():
        if name.lower() in known:
            named[known[name.lower()]] = value
        elif name not in _LOADED:
            raise unknown(name, (*OPTIONS, *SAME))
    for old, new in OLD_NAMES.items():
        if old in named:
            warnings.warn(f"the option {old} of kafka-log is called {new} now", DeprecationWarning, stacklevel=2)
    return named


def _paths(options: Mapping[str, str]) -> tuple[str, ...]:
    allowed = "one [NAME=]URI, or a list of them: load('/backup/broker-1')"
    if "paths" not in options:
        if not _is_path(options.get("path")):
            raise refused_option("path", options.get("path"), allowed)
        return (options["path"],)
    try:
        paths = json.loads(options["paths"])
    except (ValueError, RecursionError):
        paths = None
    if not isinstance(paths, list) or not paths or not all(map(_is_path, paths)):
        raise refused_option("paths", options["paths"], allowed)
    return tuple(paths)


def _is_path(path: Any) -> bool:
    try:
        return isinstance(path, str) and 0 < len(path.strip()) <= LONGEST_PATH and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:  # half a pair of UTF-16, which no file's name has
        return False


def _chosen(
    options: Mapping[str, str],
    option: str,
    allowed: Mapping[str, Value],
    default: Value,
) -> Value:
    """Return one of a few allowed values, whose words may be written in letters of any case."""
    if option not in options:
        return default
    words = {word.lower(): value for word, value in allowed.items()}
    text = in_small_letters(options[option])
    if text not in words:
        raise refused_option(option, options[option], " or ".join((", ".join([*allowed][:-1]), [*allowed][-1])))
    return words[text]


def _mode_of(rows: Rows) -> ReadMode:
    """Return the mode where none is named: a row that is no record would be counted among records."""
    return ReadMode.FAILFAST if rows is Rows.RECORDS else ReadMode.PERMISSIVE


def _columns(options: Mapping[str, str], table: Columns, *, has_headers: bool) -> Columns:
    """Choose columns: those that are named, or all, without headers of records where these are not wanted."""
    known = {name.lower(): name for name in table}
    names = tuple(known.get(in_small_letters(name), name) for name in _names(options, "columns"))
    names = names or tuple(name for name in table if has_headers or name != "headers")
    for place, name in enumerate(names):
        if name not in table:
            raise refused_option("columns", name, ", ".join(table))
        if name in names[:place]:
            raise refused_option("columns", options["columns"], "names of columns, each of them once")
    return {name: table[name] for name in names}


def _subscribed(expression: str) -> Condition:
    if len(expression) > _LONGEST_NAME:
        raise refused_option("subscribePattern", expression, f"{_LONGEST_NAME:,} characters at most")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a later Python may read otherwise
            re.compile(expression)
    except (re.error, RecursionError, OverflowError) as error:
        allowed = f"a regular expression of the whole name of a topic, such as orders-.* ({error})"
        raise refused_option("subscribePattern", expression, allowed) from error
    return MatchesExpression("topic", expression)


def _is_partition(name: str) -> Condition:
    if is_pattern(name) and (found := _PARTITIONS.fullmatch(name)):
        return AllOf((Matches("topic", found["topic"]), Matches("partition", found["partition"])))
    partition = _partition(name)
    return AllOf((Compare("topic", "=", partition.topic), Compare("partition", "=", partition.partition)))


def _partition(name: str) -> TopicPartition:
    if not is_partition_directory_name(name) or parse_directory_name(name).mark is not DirectoryMark.NONE:
        raise refused_option("partitions", name, "topics with their partitions, or patterns, such as orders-0,orders-*")
    return parse_directory_name(name).topic_partition


def _names(options: Mapping[str, str], option: str) -> tuple[str, ...]:
    """Split names at commas; at least one, where the option is given."""
    if option not in options:
        return ()
    names = tuple(name.strip() for name in options[option].split(","))
    if not all(names):
        raise refused_option(option, options[option], "names with commas between; leave it out for all")
    for name in names:
        if len(name) > _LONGEST_NAME:
            raise refused_option(option, name, f"names, or patterns, of {_LONGEST_NAME:,} characters at most")
    return names


def _where(text: str) -> Condition:
    try:
        return parse_where(text)
    except WhereError as error:
        raise refused_option("where", text, f"{ALLOWED} ({error})") from error


def _number(options: Mapping[str, str], option: str, allowed: str, most: int | None = None) -> int | None:
    text = options.get(option)
    if text is None:
        return None
    if not (_DIGITS.fullmatch(text) and 0 < int(text) <= (most or int(text))):
        raise refused_option(option, text, allowed)
    return int(text)


def _mask(options: Mapping[str, str], rows: Rows) -> RecordMask | None:
    """Return what masks contents; the salt itself is no option, as Spark shows these."""
    for option in ("mask", "maskAs", "maskSalt"):
        if option in options and rows is not Rows.RECORDS:
            raise refused_option(option, options[option], f"nothing with rows {rows.value}, which have no contents")
        if option in options and "mask" not in options:
            raise refused_option(option, options[option], "nothing without the option mask, which says what is masked")
    if "mask" not in options:
        return None
    form = _chosen(options, "maskAs", {each.value: each for each in MaskForm}, MaskForm.HASH)
    if form is MaskForm.LENGTH and "maskSalt" in options:
        raise refused_option("maskSalt", options["maskSalt"], "nothing with maskAs length, which has no salt")
    salt = None if form is MaskForm.LENGTH else _salt(options.get("maskSalt"))
    try:
        return RecordMask.of(options["mask"], form, salt)
    except ValueError as error:
        raise refused_option("mask", options["mask"], "keys, values or keys,values") from error


def _salt(file: str | None) -> bytes:
    """Read the salt. Raises MaskSaltError, and UnreadableLocationError."""
    if file is not None and not _is_path(file):
        raise refused_option("maskSalt", file, "a file where the driver runs, with at least 16 bytes")
    try:
        return mask_salt(file)
    except OSError as error:
        raise UnreadableLocationError(shown(file or ""), error) from error


def _refuse_parts(options: Mapping[str, str], rows: Rows) -> None:
    """Refuse what is about parts of logs where a row is about a whole one."""
    for option in (*RANGES, *TIMES_BY_PARTITION, *OLD_NAMES, "where", "isolation", "failOnDataLoss"):
        if option in options:
            raise refused_option(option, options[option], f"nothing with rows {rows.value}, which are of whole logs")
