"""The JSON file that names the partitions, read as Kafka's tools read JSON (Jackson)."""

import json
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from logstore import TopicPartition
from replication.base.int32 import INT32
from replication.cluster.operations.tool_error import ToolError

PARTITIONS: Final = "partitions"

_BLANKS: Final = " \t\r\n"
_PLAIN_DOUBLES: Final = (1e-3, 1e7)
"""Doubles from here to there are written without an exponent in Java."""


def read_election_data(path: Path) -> tuple[TopicPartition, ...]:
    """Read a file as `{"partitions": [{"topic": "foo", "partition": 1}]}`. Raises ToolError."""
    try:
        text = path.read_bytes().decode(errors="replace")
    except OSError as error:
        raise ToolError(f"Unable to read file {path}", f"{path}: {error.strerror or error}") from error
    return parse_election_data(text)


def parse_election_data(text: str) -> tuple[TopicPartition, ...]:
    """Read the contents of such a file; other fields are ignored. Raises ToolError."""
    document = _object(_parsed(text))
    if PARTITIONS not in document:
        raise ToolError('Replica election data is missing "partitions" field')
    partitions = [_partition(_object(item)) for item in _array(document[PARTITIONS])]
    if twice := [str(each) for each, count in Counter(partitions).items() if count > 1]:
        raise ToolError(f"Replica election data contains duplicate partitions: [{', '.join(twice)}]")
    return tuple(partitions)


class _Missing:
    """What Jackson reads if there is only whitespace."""


def _parsed(text: str) -> Any:
    """Return the first JSON value; what follows it is ignored."""
    start = len(text) - len(text.lstrip(_BLANKS))
    if text and start == len(text):
        return _Missing()
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise ToolError("Replica election data is empty", f"it is not JSON: {error}") from error
    if _runs_on(text[start:end], text[end : end + 1]):
        raise ToolError("Replica election data is empty", f"it is not JSON: {text[end]!r} follows {text[start:end]}")
    return value


def _runs_on(value: str, follower: str) -> bool:
    """Whether a number or a word continues with a character that neither can have."""
    return value[-1] not in '"]}' and follower not in ("", *_BLANKS)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)


def _partition(item: Mapping[str, Any]) -> TopicPartition:
    topic = _field(item, "topic")
    if not isinstance(topic, str):
        raise _unexpected("`String` value", topic)
    partition = _field(item, "partition")
    if not isinstance(partition, int) or isinstance(partition, bool) or partition not in INT32:
        raise _unexpected("`Integer` value", partition)
    # Half of a surrogate pair cannot be sent: Java writes a question mark.
    return TopicPartition(topic.encode(errors="replace").decode(), partition)


def _field(item: Mapping[str, Any], name: str) -> Any:
    if name not in item:
        raise ToolError(f"No such field exists: `{name}`")
    return item[name]


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _unexpected("JSON object", value)
    return value


def _array(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _unexpected("JSON array", value)
    return value


def _unexpected(expected: str, value: Any) -> ToolError:
    try:
        received = _written(value)
    except RecursionError:
        received = "a value that is nested too deeply to be shown"
    return ToolError(f"Expected {expected}, received {received}")


def _written(value: Any) -> str:
    """Write JSON as Jackson does: without whitespace, and doubles as Java does."""
    match value:
        case _Missing():
            return ""
        case dict():
            return "{" + ",".join(f"{_written(key)}:{_written(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_written, value)) + "]"
        case float():
            return _double(value)
        case _:
            return json.dumps(value, ensure_ascii=False)


def _double(value: float) -> str:
    """Write a double as Java's Double.toString does, and a number too large for one in quotes."""
    if value in (float("inf"), float("-inf")):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    low, high = _PLAIN_DOUBLES
    if value == 0 or low <= abs(value) < high:
        return repr(value)
    shortest = Decimal(repr(value))
    digits = "".join(map(str, shortest.as_tuple().digits)).rstrip("0")
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:] or 0}E{shortest.adjusted()}"
