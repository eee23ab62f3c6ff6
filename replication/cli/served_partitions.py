"""What a broker says of its partitions once it serves: ours alone, and one of a cluster."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from replication.cli.output import complain, shown
from replication.counted import counted

if TYPE_CHECKING:
    from replication.broker.partitions.hosted_partitions import HostedPartitions


def told_partitions(hosted: "HostedPartitions") -> str:
    """Say how many there are, how many it leads, and how many cannot be used where some cannot."""
    led = sum(each.is_leader for each in hosted.values())
    offline = f", {len(hosted.offline)} offline" if hosted.offline else ""
    return f"{counted(len(hosted), 'partition')}, leads {led}{offline}"


def complain_of_strays(strays: Iterable[Path]) -> None:
    """Name the directories that are not the broker's by the metadata."""
    for path in strays:
        complain(
            f"{shown(str(path))}: set aside, as it is not this broker's by the metadata: remove it if nobody needs it"
        )
