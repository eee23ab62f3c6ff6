"""What `plan` and `advise` share: they go on after a partition that cannot be judged, and name what they leave out."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from replication.cli.output import shown

if TYPE_CHECKING:
    from logstore.topic_partition import TopicPartition
    from replication.planning import Replica


class Failures:
    """Tells on the error stream, at once, which partitions could not be judged; `any` tells whether there were some."""

    def __init__(self) -> None:
        self.any = False

    def __call__(self, partition: "TopicPartition", error: Exception) -> None:
        """Take one failure."""
        self.any = True
        print(shown(f"epochlog: {partition}: {error}"), file=sys.stderr)


def name_what_is_left_out(replicas: Sequence["Replica"]) -> None:
    """Say on the error stream which partitions only one of the replicas holds."""
    from replication.planning import held_by_one

    for name, partitions in held_by_one(replicas).items():
        told = ", ".join(map(str, partitions))
        print(shown(f"epochlog: not compared, since only {name} holds them: {told}"), file=sys.stderr)
