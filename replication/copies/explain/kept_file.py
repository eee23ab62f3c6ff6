"""Records that a mirror kept when it truncated its copy (`epochlog mirror --keep-truncated`)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from logstore.topic_partition import TopicPartition, is_partition_directory_name, parse_directory_name

_NAME: Final = re.compile(r"(?P<offset>\d{20})-epoch(?P<epoch>-?\d+)-(?P<time>\d{8}T\d{6}\.\d{3}Z)\.log", re.ASCII)


@dataclass(frozen=True, slots=True)
class KeptFile:
    """One truncation of one partition."""

    partition: TopicPartition
    path: Path
    leader_epoch: int
    """Of the leader whose log lacks these records."""


def kept_files(path: Path) -> list[KeptFile]:
    """Find what a mirror kept: in its directory, or in that of one partition; nothing where `path` is neither.

    Raises OSError.
    """
    directories = [path, *sorted(each for each in path.iterdir() if each.is_dir())] if path.is_dir() else []
    return [kept for each in directories if is_partition_directory_name(each.name) for kept in _of_partition(each)]


def _of_partition(directory: Path) -> Iterator[KeptFile]:
    partition = parse_directory_name(directory.name).topic_partition
    for path in sorted(directory.iterdir()):
        named = _NAME.fullmatch(path.name)
        if named and path.is_file():
            yield KeptFile(partition, path, int(named["epoch"]))
