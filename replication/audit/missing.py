"""Which replicas should have a copy of a partition and have none."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from logstore.topic_partition import TopicPartition
from replication.audit.work import Copy

Missing = dict[TopicPartition, tuple[str, ...]]


def missing_copies(copies: Iterable[Copy], replicas: Sequence[str]) -> Missing:
    """Name the replicas without a copy where a topic's other partitions have more copies.

    Who it is can be told only where all that have none must have one.
    """
    holders: defaultdict[TopicPartition, set[str]] = defaultdict(set)
    for copy in copies:
        holders[copy.topic_partition].add(copy.replica)
    most: defaultdict[str, int] = defaultdict(int)
    for partition, holding in holders.items():
        most[partition.topic] = max(most[partition.topic], len(holding))
    missing: Missing = {}
    for partition, holding in holders.items():
        without = [replica for replica in replicas if replica not in holding]
        lacking = most[partition.topic] - len(holding)
        if 0 < lacking == len(without):
            missing[partition] = tuple(without)
    return missing
