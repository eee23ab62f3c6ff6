"""The options of Spark's own source of Kafka, as far as they mean something of files."""

import json
from collections.abc import Mapping
from typing import Any, Final

from replication.base.errors import NotAllowedError, UnknownOptionError
from replication.copies.audit.log_rows.options.range_options import refused_option

SAME: Final = {"subscribe": "topics", "assign": "partitions", "kafka.isolation.level": "isolation"}
"""Those that we have under other names."""
_INSTEAD: Final = {
    "kafka.bootstrap.servers": "files are read, and no broker is asked: name their directories, load('/backup/b1')",
    "maxoffsetspertrigger": "a batch has no triggers; bound it with startingOffsets and endingOffsets",
    "startingoffsetsbytimestampstrategy": "where no record is as late as the time, there is none to read",
    "groupidprefix": "files are read, and no group is joined",
    "kafka.group.id": "files are read, and no group is joined",
}
"""What to write in place of options that mean nothing of files, by their names in small letters."""


def in_our_names(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with ours in place of those that have another name with Spark. Raises NotAllowedError.

    >>> in_our_names({"assign": '{"orders": [0, 1]}'})
    {'partitions': 'orders-0,orders-1'}
    """
    ours = {name.lower(): name for name in SAME}
    renamed = {name: value for name, value in options.items() if name.lower() not in ours}
    for name, value in options.items():
        if name.lower() not in ours:
            continue
        kafkas = ours[name.lower()]
        option = SAME[kafkas]
        if any(other.lower() == option for other in options):
            raise NotAllowedError(f"option {kafkas} of kafka-log", value, f"either this option or {option}, not both")
        renamed[option] = _assigned(value) if kafkas == "assign" else value
    return renamed


def unknown(option: str, known: tuple[str, ...]) -> UnknownOptionError:
    """Make the error of an option that there is not; it says what to write in place of one of Kafka's."""
    instead = _INSTEAD.get(option.lower())
    if instead is None and option.lower().startswith("kafka."):
        instead = "files are read, and no client is configured"
    return UnknownOptionError(option, known, instead)


def _assigned(text: str) -> str:
    """Return the partitions of a JSON object such as {"orders": [0, 1]}, with commas between."""
    try:
        by_topic: Any = json.loads(text)
    except (ValueError, RecursionError):
        by_topic = None
    if not isinstance(by_topic, dict) or not all(map(_are_numbers, by_topic.values())) or not any(by_topic.values()):
        raise refused_option("assign", text, 'partitions by topic as JSON: {"orders": [0, 1]}')
    return ",".join(f"{topic}-{partition}" for topic, partitions in by_topic.items() for partition in partitions)


def _are_numbers(partitions: Any) -> bool:
    return isinstance(partitions, list) and all(type(each) is int and 0 <= each < 1 << 31 for each in partitions)
