"""Who has read a side of a fork that is not the leader's is told, and reads on from where the fork begins."""

from functools import partial

import pytest

from logstore import TopicPartition
from tests.campaign import is_full, run_seed
from tests.data.replicas import LABELS
from tests.oracle.kafka import JavaProgram
from tests.replication.cluster.serving.followers import FOLLOWERS, JavaFollower, StartFollower
from tests.replication.cluster.serving.seekers import (
    EARLIEST,
    NO_POLICY,
    Position,
    PositionSeeker,
    Truncated,
    position_of_confluent_kafka,
    position_of_java,
)
from tests.replication.cluster.serving.served_set import Served, brokers

PARTITIONS = (TopicPartition("diverge", 0), TopicPartition("hwloss", 0))
_LABELS = [label for label in LABELS if label.startswith("diverged")]
FORKED = pytest.mark.parametrize("label", _LABELS if is_full() else [_LABELS[run_seed() // 2 % len(_LABELS)]])


@FORKED
def test_librdkafka_is_told_that_a_position_is_of_the_other_copy(label: str) -> None:
    ensure_the_other_copys_positions_are_lost(label, position_of_confluent_kafka)


@FORKED
def test_the_java_client_is_told_that_a_position_is_of_the_other_copy(label: str, java: JavaProgram) -> None:
    ensure_the_other_copys_positions_are_lost(label, position_of_java(java))


@FORKED
@pytest.mark.parametrize("client", FOLLOWERS)
def test_a_reader_of_one_copy_is_told_once_the_other_one_leads(label: str, client: str) -> None:
    ensure_readers_are_told_of_the_other_copy(label, FOLLOWERS[client])


@FORKED
def test_a_reader_in_java_of_one_copy_is_told_once_the_other_one_leads(label: str, java: JavaProgram) -> None:
    ensure_readers_are_told_of_the_other_copy(label, partial(JavaFollower, java))


def ensure_the_other_copys_positions_are_lost(label: str, seek: PositionSeeker) -> None:
    """See that positions that only the copy of broker 1 has are lost beside that of broker 2, which leads."""
    with Served.open(label, brokers(label)[:1]) as first, Served.open(label) as both:
        for partition in PARTITIONS:
            ours, fork = first.dumped[partition], fork_of(first, both, partition)
            epoch = ours.epochs[-1][0]
            for offset in (fork + 1, (fork + ours.end) // 2, ours.end):
                told = seek(both.bootstrap, partition, Position(offset, epoch), NO_POLICY)
                assert told == Truncated(fork), (partition, offset)
                assert seek(both.bootstrap, partition, Position(offset, epoch), EARLIEST) == fork


def ensure_readers_are_told_of_the_other_copy(label: str, start: StartFollower) -> None:
    """See that who has read all of broker 1's copy is told when broker 2's answers at the same address."""
    one, other = brokers(label)[:2]
    for partition, policy in zip(PARTITIONS, (NO_POLICY, EARLIEST), strict=True):
        with Served.open(label, [one]) as first:
            begun = start(first.bootstrap, partition, policy)
            offsets = [each.offset for each in first.truth(partition, committed=False)]
            assert begun.next(len(offsets)) == offsets
        with begun, Served.open(label, [other], port=first.port) as second:
            fork = fork_of(first, second, partition)
            behind = [each.offset for each in second.truth(partition, committed=False) if each.offset >= fork]
            assert begun.next(len(behind)) == (Truncated(fork) if policy == NO_POLICY else behind)


def fork_of(first: Served, second: Served, partition: TopicPartition) -> int:
    """Return the offset from which on two copies differ, by what `dump` prints of their epochs."""
    ours, theirs = first.dumped[partition].epochs, second.dumped[partition].epochs
    return next(start for (epoch, start), (other, _) in zip(ours, theirs, strict=True) if epoch != other)
