"""Where brokers cut off their logs, as they tell it themselves: Kafka's and ours."""

import re
from typing import Final

from logstore import TopicPartition
from logstore.topic_partition import parse_directory_name

_THEIRS: Final = re.compile(
    r"\[UnifiedLog partition=(?P<partition>\S+), dir=\S+\] Truncating to offset (?P<offset>\d+)"
)
_OURS: Final = re.compile(r"(?P<partition>\S+): cut from offset \d+ back to (?P<offset>\d+) under leader epoch")


def cuts(said: str) -> dict[TopicPartition, list[int]]:
    """Return the offsets that a broker has cut each partition back to, in the order in which it did."""
    found: dict[TopicPartition, list[int]] = {}
    for line in said.splitlines():
        if told := _THEIRS.search(line) or _OURS.search(line):
            partition = parse_directory_name(told["partition"]).topic_partition
            found.setdefault(partition, []).append(int(told["offset"]))
    return found
