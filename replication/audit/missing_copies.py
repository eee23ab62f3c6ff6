"""Partitions that lack copies: what only all partitions of all replicas, taken together, tell."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from logstore.topic_partition import TopicPartition
from logstore.verify.finding import Reporter
from replication.audit.replica_finding import ReplicaFinding

UNNAMED: Final = ""
"""The replica of a copy that is missing where nothing tells whose it is."""

Partitions = Mapping[str, Collection[TopicPartition]]
"""By replica."""


def missing_copies(held: Partitions, listed: Partitions) -> dict[TopicPartition, tuple[str, ...]]:
    """Tell, of the partitions that some replica holds, which replicas lack a copy that they should have.

    A replica should have one where its own checkpoint files list the partition (`listed`, by replica), or where the
    partition has fewer copies than most of its topic's and no other replica can be meant; else the replica is UNNAMED.

    >>> t = [TopicPartition("t", number) for number in range(2)]
    >>> missing_copies({"a": t, "b": t[:1]}, {})
    {TopicPartition(topic='t', partition=1): ('b',)}
    """
    holders: dict[TopicPartition, set[str]] = defaultdict(set)
    for replica, partitions in held.items():
        for partition in partitions:
            holders[partition].add(replica)
    by_topic: dict[str, list[TopicPartition]] = defaultdict(list)
    for partition in sorted(holders):
        by_topic[partition.topic].append(partition)
    missing = {}
    for partitions in by_topic.values():
        expected = _most_frequent([len(holders[partition]) for partition in partitions])
        hosts = set().union(*(holders[partition] for partition in partitions))
        for partition in partitions:
            absent = {replica for replica, names in listed.items() if partition in names} - holders[partition]
            short = expected - len(holders[partition]) - len(absent)
            if short > 0:
                candidates = hosts - holders[partition] - absent
                absent |= candidates if len(candidates) == short else {UNNAMED}
            if absent:
                missing[partition] = tuple(sorted(absent))
    return missing


def nowhere_findings(held: Partitions, listed: Partitions) -> tuple[ReplicaFinding, ...]:
    """Report the partitions that a replica's checkpoint files list and of which no replica has a copy."""
    everywhere = set().union(*held.values())
    return tuple(
        ReplicaFinding(
            replica,
            Reporter(partition).warning(
                "partition-nowhere",
                "the checkpoint files list the partition, but none of the replicas has it: its topic was deleted just "
                "before the broker was killed, or every copy is lost, or none was taken",
                file=None,
            ),
        )
        for replica, partitions in sorted(listed.items())
        for partition in sorted(set(partitions) - everywhere)
    )


def _most_frequent(counts: Sequence[int]) -> int:
    """Return the count that occurs most often, the largest of several."""
    times = Counter(counts)
    return max(times, key=lambda count: (times[count], count))
