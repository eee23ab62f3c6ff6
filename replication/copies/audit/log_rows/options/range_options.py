"""The options that bound offsets and timestamps, named and written as those of Spark's own source of Kafka."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from epoch.history import MAX_OFFSET
from logstore.topic_partition import TopicPartition
from replication.base.errors import NotAllowedError
from replication.copies.audit.log_rows.conditions.column_condition import MICROSECONDS, compared_time, microseconds_of
from replication.copies.audit.log_rows.conditions.condition import AllOf, AnyOf, Compare, Condition
from replication.copies.audit.log_rows.options.read_end import ReadEnd

RANGES: Final = ("startingOffsets", "endingOffsets", "startingTimestamp", "endingTimestamp")
TIMES_BY_PARTITION: Final = {"startingOffsetsByTimestamp": ">=", "endingOffsetsByTimestamp": "<"}
"""How a record's timestamp compares with the time that the option has for its partition."""
_NUMBER: Final = re.compile(r"\d{1,19}", re.ASCII)
_SIGNED: Final = re.compile(r"-?\d{1,18}", re.ASCII)
_PARTITION: Final = re.compile(r"0|[1-9]\d{0,9}", re.ASCII)
_NO_BOUND: Final = {">=": ("earliest", -2), "<": ("latest", -1)}
"""Of starting and ending offsets, as a word and as a number by partition."""
Offsets = Mapping[TopicPartition | None, int]
"""By partition; None stands for all of them."""


def refused_option(option: str, value: str | None, allowed: str) -> NotAllowedError:
    """Make the error that says what the option may be."""
    return NotAllowedError(f"option {option} of kafka-log", value, allowed)


def in_small_letters(text: str) -> str:
    """Return a word without regard to the case of its letters; of others than ASCII's none is one of ours."""
    return text.lower() if text.isascii() else text


def range_conditions(options: Mapping[str, str]) -> Iterator[Condition]:
    """Read the bounds: the first offset or timestamp wanted, and the first behind. Raises NotAllowedError."""
    yield from _old_bounds(options)
    starting, ending = offset_bounds(options)
    for place, first in starting.items():
        for other, after in ending.items():
            if (place == other or None in {place, other}) and first > after:
                raise refused_option(
                    RANGES[1], options[RANGES[1]], f"an offset from startingOffsets on, which is {first}"
                )
    yield from _compared_offsets(starting, ">=")
    yield from _compared_offsets(ending, "<")
    if ended := _ends(options.get(RANGES[1], "")):
        # It says where a read ends: of a partition that is newer than that nothing is read.
        yield AnyOf(
            tuple(
                AllOf((Compare("topic", "=", place.topic), Compare("partition", "=", place.partition)))
                for place in ended
            )
        )
    times = [_timestamp(option, options[option]) if option in options else None for option in RANGES[2:]]
    first_time, after_time = times
    if first_time is not None and after_time is not None and first_time > after_time:
        allowed = f"a time from startingTimestamp on, which is {options[RANGES[2]]}"
        raise refused_option(RANGES[3], options[RANGES[3]], allowed)
    for time, sign in zip(times, (">=", "<"), strict=True):
        if time is not None:
            yield compared_time(sign, time)


def time_conditions(options: Mapping[str, str]) -> Iterator[Condition]:
    """Read the timestamps that are named by partition. Raises NotAllowedError."""
    for option, sign in TIMES_BY_PARTITION.items():
        for place, time in _times(option, options).items():
            yield _of_partition(place, compared_time(sign, time * MICROSECONDS))


def bounded_partitions(options: Mapping[str, str]) -> frozenset[TopicPartition]:
    """Return the partitions for which offsets or timestamps are named. Raises NotAllowedError."""
    places = {place for bounds in offset_bounds(options) for place in bounds if place is not None}
    return frozenset(places.union(*(_times(option, options) for option in TIMES_BY_PARTITION)))


def read_ends(options: Mapping[str, str]) -> Mapping[TopicPartition, tuple[ReadEnd, ...]]:
    """Return the ends of reads that bound this one, each with its leader epoch. Raises NotAllowedError."""
    ends: defaultdict[TopicPartition, tuple[ReadEnd, ...]] = defaultdict(tuple)
    for option in RANGES[:2]:
        for place, end in _ends(options.get(option, "")).items():
            ends[place] += (end,)
    return ends


def _ends(text: str) -> Mapping[TopicPartition, ReadEnd]:
    """Pick what ends with a leader epoch, out of offsets by partition as JSON."""
    by_topic = _parsed(text)
    if not isinstance(by_topic, dict) or not all(isinstance(each, dict) for each in by_topic.values()):
        return {}
    found = {
        TopicPartition(topic, int(partition)): ReadEnd.of_json(end)
        for topic, partitions in by_topic.items()
        for partition, end in partitions.items()
        if _PARTITION.fullmatch(partition)
    }
    return {place: end for place, end in found.items() if end is not None}


def _times(option: str, options: Mapping[str, str]) -> Mapping[TopicPartition, int]:
    if option not in options:
        return {}
    by_topic = _parsed(options[option])
    if not _is_of_partitions(by_topic, 0):
        allowed = 'milliseconds since 1970 UTC by partition as JSON: {"orders": {"0": 1795247778444}}'
        raise refused_option(option, options[option], allowed)
    return _by_partition(by_topic)


def offset_bounds(options: Mapping[str, str]) -> tuple[Offsets, Offsets]:
    """Read the first offsets wanted, and the first behind. Raises NotAllowedError."""
    starting, ending = (
        _offsets(option, options[option], sign) if option in options else {}
        for option, sign in zip(RANGES[:2], (">=", "<"), strict=True)
    )
    return starting, ending


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


def _compared_offsets(bounds: Offsets, sign: str) -> Iterator[Condition]:
    for place, offset in bounds.items():
        bound = Compare("offset", sign, offset)
        if place is None:
            yield bound
        else:
            yield _of_partition(place, bound)


def _of_partition(place: TopicPartition, bound: Condition) -> Condition:
    return AnyOf((Compare("topic", "!=", place.topic), Compare("partition", "!=", place.partition), bound))


def _offsets(option: str, text: str, sign: str) -> Offsets:
    word, number = _NO_BOUND[sign]
    if in_small_letters(text) == word:
        return {}
    if _is_offset(text):
        return {None: int(text)}
    by_topic = _parsed(text)
    if not _is_of_partitions(by_topic, number, takes_ends=True):
        allowed = (
            f"{word}, an offset from 0 to {MAX_OFFSET} for all partitions, or offsets by partition as JSON, of which "
            f'{number} is {word}: {{"orders": {{"0": 23, "1": {number}}}}}, or what ending_offsets gives'
        )
        raise refused_option(option, text, allowed)
    return {
        place: offset["offset"] if isinstance(offset, dict) else offset
        for place, offset in _by_partition(by_topic).items()
        if offset != number
    }


def _by_partition(by_topic: Mapping[str, Mapping[str, Any]]) -> dict[TopicPartition, Any]:
    return {
        TopicPartition(topic, int(partition)): number
        for topic, partitions in by_topic.items()
        for partition, number in partitions.items()
    }


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError):
        return None


def _without_doubles(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands there twice")
    return found


def _is_of_partitions(found: Any, no_bound: int, *, takes_ends: bool = False) -> bool:
    if not isinstance(found, dict) or not found or not all(isinstance(each, dict) for each in found.values()):
        return False
    entries = [entry for partitions in found.values() for entry in partitions.items()]
    return all(
        _PARTITION.fullmatch(partition)
        and (_is_bound(bound, no_bound) or (takes_ends and ReadEnd.of_json(bound) is not None))
        for partition, bound in entries
    )


def _is_bound(found: Any, no_bound: int) -> bool:
    return type(found) is int and (found == no_bound or 0 <= found <= MAX_OFFSET)


def _timestamp(option: str, text: str) -> int:
    """Read a time, in microseconds since 1970 UTC."""
    if _SIGNED.fullmatch(text):
        return int(text) * MICROSECONDS
    try:
        return microseconds_of(datetime.fromisoformat(text))
    except ValueError as error:
        allowed = "milliseconds since 1970 UTC, or a time such as 2026-11-21T07:55:55, which is UTC if it names no zone"
        raise refused_option(option, text, allowed) from error


def _is_offset(text: str | None) -> bool:
    return text is not None and _NUMBER.fullmatch(text) is not None and int(text) <= MAX_OFFSET
