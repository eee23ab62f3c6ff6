"""The options that bound offsets and timestamps, named and written as those of Spark's own source of Kafka."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from epoch.history import MAX_OFFSET
from replication.audit.spark.source.conditions.column_condition import TIMESTAMP, compared
from replication.audit.spark.source.conditions.condition import AnyOf, Compare, Condition
from replication.audit.spark.source.options.refused_option import refused_option

RANGES: Final = ("startingOffsets", "endingOffsets", "startingTimestamp", "endingTimestamp")
_NUMBER: Final = re.compile(r"\d{1,19}", re.ASCII)
_SIGNED: Final = re.compile(r"-?\d{1,18}", re.ASCII)
_NO_BOUND: Final = {">=": ("earliest", -2), "<": ("latest", -1)}
"""Of starting and ending offsets, as a word and as a number by partition."""


def range_conditions(options: Mapping[str, str]) -> Iterator[Condition]:
    """Read the bounds: the first offset or timestamp wanted, and the first behind. Raises NotAllowedError."""
    yield from _old_bounds(options)
    starting, ending = (options.get(name) for name in RANGES[:2])
    if starting is not None:
        yield from _offsets(RANGES[0], starting, ">=")
    if ending is not None:
        yield from _offsets(RANGES[1], ending, "<")
    if _is_offset(starting) and _is_offset(ending) and int(str(starting)) > int(str(ending)):
        raise refused_option(RANGES[1], ending, f"an offset from startingOffsets on, which is {starting}")
    for option, sign in zip(RANGES[2:], (">=", "<"), strict=True):
        if option in options:
            yield _timestamp(option, options[option], sign)


def _old_bounds(options: Mapping[str, str]) -> Iterator[Condition]:
    """Read the options that the ones of Spark replace: the last offset wanted was named, not the first behind."""
    names = {"first_offset": ">=", "last_offset": "<="}
    for option, sign in names.items():
        text = options.get(option)
        if text is None:
            continue
        if not _is_offset(text):
            raise refused_option(option, text, f"offsets from 0 to {MAX_OFFSET}")
        yield Compare("offset", sign, int(text))
    first, last = (options.get(name) for name in names)
    if first is not None and last is not None and int(first) > int(last):
        raise refused_option("last_offset", last, f"an offset from first_offset on, which is {first}")


def _offsets(option: str, text: str, sign: str) -> Iterator[Condition]:
    word, number = _NO_BOUND[sign]
    if text == word:
        return
    if _is_offset(text):
        yield Compare("offset", sign, int(text))
        return
    allowed = (
        f"{word}, an offset from 0 to {MAX_OFFSET} for all partitions, or offsets by partition as JSON, of which "
        f'{number} is {word}: {{"orders": {{"0": 23, "1": {number}}}}}'
    )
    by_topic = _parsed(text)
    if not _is_of_partitions(by_topic, number):
        raise refused_option(option, text, allowed)
    for topic, partitions in by_topic.items():
        for partition, offset in partitions.items():
            if offset != number:
                others = (Compare("topic", "!=", topic), Compare("partition", "!=", int(partition)))
                yield AnyOf((*others, Compare("offset", sign, offset)))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_of_partitions(found: Any, no_bound: int) -> bool:
    if not isinstance(found, dict) or not found or not all(isinstance(each, dict) for each in found.values()):
        return False
    entries = [entry for partitions in found.values() for entry in partitions.items()]
    return all(
        _NUMBER.fullmatch(partition) and type(offset) is int and (offset == no_bound or 0 <= offset <= MAX_OFFSET)
        for partition, offset in entries
    )


def _timestamp(option: str, text: str, sign: str) -> Condition:
    if _SIGNED.fullmatch(text):
        return Compare(TIMESTAMP, sign, int(text))
    try:
        return compared(TIMESTAMP, sign, datetime.fromisoformat(text))
    except ValueError as error:
        allowed = "milliseconds since 1970 UTC, or a time such as 2026-11-21T07:55:55, which is UTC if it names no zone"
        raise refused_option(option, text, allowed) from error


def _is_offset(text: str | None) -> bool:
    return text is not None and _NUMBER.fullmatch(text) is not None and int(text) <= MAX_OFFSET
