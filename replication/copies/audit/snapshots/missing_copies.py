"""Partitions that lack copies: what only all partitions of all replicas, taken together, show."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from logstore.topic_partition import TopicPartition
from logstore.verify.finding import Reporter
from replication.base.metadata_partition import METADATA_PARTITION
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.registered import Registrations

if TYPE_CHECKING:
    from replication.copies.audit.snapshots.newest_metadata import ClusterMetadata

NOWHERE: Final = "partition-nowhere"
"""The kind of the findings about partitions of which there is no copy at all."""
UNNAMED: Final = ""
"""The replica of a copy that is missing where nothing shows whose it is."""

Partitions = Mapping[str, Collection[TopicPartition]]
"""By replica."""


def assigned_copies(
    newest: "ClusterMetadata | None", replicas: Mapping[int, str]
) -> dict[TopicPartition, tuple[str, ...]]:
    """Return which of the `replicas`, by node id, the cluster's metadata assigns each partition to.

    A replica that is being added or removed need not have it.
    """
    # The metadata itself may be in a directory of its own (metadata.log.dir), which nobody named.
    assigned: dict[TopicPartition, tuple[str, ...]] = {METADATA_PARTITION: ()}
    if newest is None:
        return assigned
    for topic, number, state in newest.image.topics.partitions():
        moving = {*state.adding_replicas, *state.removing_replicas}
        names = (replicas[node] for node in state.replicas if node in replicas and node not in moving)
        assigned[TopicPartition(topic.name, number)] = tuple(names)
    return assigned


@dataclass(frozen=True, slots=True)
class Expectations:
    """What shows which replicas should have copies of which partitions, what is surest first."""

    assigned: Mapping[TopicPartition, Collection[str]] = field(default_factory=dict)
    """By the cluster's metadata: the replicas that should have one, of those that are compared."""
    listed: Partitions = field(default_factory=dict)
    """By each replica's own checkpoint files."""
    replication_factor: int | None = None
    """Of the partitions that the metadata does not mention, as the user says; None leaves it to the other copies."""
    registered: Registrations = field(default_factory=dict)
    """What the cluster's metadata says of each partition besides."""

    @classmethod
    def of(
        cls,
        newest: "ClusterMetadata | None",
        names: Mapping[int, str],
        listed: Partitions,
        replication_factor: int | None = None,
    ) -> Self:
        """Create it from the cluster's metadata, with the replicas' `names` by node id."""
        registered = newest.registrations(names) if newest is not None else {}
        return cls(assigned_copies(newest, names), listed, replication_factor, registered)

    def about(self, is_wanted: Callable[[TopicPartition], bool]) -> "Expectations":
        """Return what is expected of some partitions alone."""
        assigned = {each: replicas for each, replicas in self.assigned.items() if is_wanted(each)}
        listed = {replica: set(filter(is_wanted, names)) for replica, names in self.listed.items()}
        return Expectations(assigned, listed, self.replication_factor, self.registered)


def missing_copies(held: Partitions, expected: Expectations) -> dict[TopicPartition, tuple[str, ...]]:
    """Return, for the partitions that some replica holds, which replicas lack a copy that they should have.

    A replica should have one where the metadata or its own checkpoint files say so. Of a partition that the metadata
    does not mention there should be `replication_factor` copies, or as many as of most partitions of its topic; where
    a replica holds nothing at all, as many as of any. Who lacks one is named where no other replica can be meant, or
    only those that hold nothing; else the replica is UNNAMED. A replica that holds nothing, and is not found to lack
    anything so, is taken to lack everything: it was not named for nothing.

    >>> t = [TopicPartition("t", number) for number in range(2)]
    >>> missing_copies({"a": t, "b": t[:1]}, Expectations())
    {TopicPartition(topic='t', partition=1): ('b',)}
    """
    holders: dict[TopicPartition, set[str]] = defaultdict(set)
    for replica, partitions in held.items():
        for partition in partitions:
            holders[partition].add(replica)
    empty = {replica for replica, partitions in held.items() if not partitions}
    by_topic: dict[str, list[TopicPartition]] = defaultdict(list)
    for partition in sorted(holders):
        by_topic[partition.topic].append(partition)
    missing: dict[TopicPartition, set[str]] = {}
    for partitions in by_topic.values():
        counts = [len(holders[partition]) for partition in partitions]
        copies = expected.replication_factor or (max(counts) if empty else _most_frequent(counts))
        hosts = set(held) if expected.replication_factor else empty.union(*(holders[each] for each in partitions))
        for partition in partitions:
            there = holders[partition]
            absent = {replica for replica, names in expected.listed.items() if partition in names} - there
            if partition in expected.assigned:
                absent |= set(expected.assigned[partition]) - there
            else:
                absent |= _who(hosts - there - absent, copies - len(there) - len(absent), empty)
            missing[partition] = absent
    if expected.replication_factor is None:
        _blame(empty, missing, expected)
    return {partition: tuple(sorted(absent)) for partition, absent in missing.items() if absent}


def nowhere_findings(held: Partitions, expected: Expectations) -> tuple[ReplicaFinding, ...]:
    """Report the partitions that a replica should have by metadata or checkpoint files, and that no replica has."""
    everywhere = set().union(*held.values())
    claims = {(replica, partition): _LISTED for replica, names in expected.listed.items() for partition in names}
    claims |= {(replica, partition): _ASSIGNED for partition, names in expected.assigned.items() for replica in names}
    return tuple(
        ReplicaFinding(replica, Reporter(partition).warning(NOWHERE, message, file=None))
        for (replica, partition), message in sorted(claims.items())
        if partition not in everywhere
    )


_LISTED: Final = (
    "the checkpoint files list the partition, but none of the replicas has it: its topic was deleted just before the "
    "broker was killed, or every copy is lost, or none was taken"
)
_ASSIGNED: Final = (
    "the cluster's metadata assigns the partition to this broker, but none of the replicas has it: it was made after "
    "the copies were taken, or every copy is lost, or none was taken"
)


def _who(candidates: set[str], count: int, empty: set[str]) -> set[str]:
    """Return who lacks one of `count` copies; those that hold nothing at all before others."""
    if count <= 0:
        return set()
    for meant in (candidates, candidates & empty):
        if len(meant) == count:
            return meant
    return {UNNAMED}


def _blame(empty: set[str], missing: Mapping[TopicPartition, set[str]], expected: Expectations) -> None:
    """Expect everything that the metadata does not mention of those that hold nothing, and lack nothing so far."""
    found = set().union(*missing.values())
    if UNNAMED in found:
        return
    for partition, absent in missing.items():
        if partition not in expected.assigned:
            absent.update(empty - found)


def _most_frequent(counts: Sequence[int]) -> int:
    """Return the count that occurs most often, the largest of several."""
    times = Counter(counts)
    return max(times, key=lambda count: (times[count], count))
