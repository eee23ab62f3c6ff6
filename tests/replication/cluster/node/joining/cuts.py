"""Where brokers cut off their logs, as they tell it themselves: Kafka's and ours."""

import json
import re
from typing import Final

from logstore import TopicPartition
from logstore.topic_partition import parse_directory_name

_THEIRS: Final = re.compile(
    r"\[UnifiedLog partition=(?P<partition>\S+), dir=\S+\] Truncating to offset (?P<offset>\d+)"
)


def cuts(said: str) -> dict[TopicPartition, list[int]]:
    """Return the offsets that a broker has cut each partition back to, in the order in which it did."""
    found: dict[TopicPartition, list[int]] = {}
    for line in said.splitlines():
        cut = _theirs(line) or _ours(line)
        if cut is not None:
            partition, offset = cut
            found.setdefault(partition, []).append(offset)
    return found


def _theirs(line: str) -> tuple[TopicPartition, int] | None:
    told = _THEIRS.search(line)
    return told and (parse_directory_name(told["partition"]).topic_partition, int(told["offset"]))


def _ours(line: str) -> tuple[TopicPartition, int] | None:
    told = json.loads(line) if line.startswith('{"time"') else {}
    if told.get("event") != "truncation":
        return None
    return TopicPartition(told["topic"], told["partition"]), told["to"]
