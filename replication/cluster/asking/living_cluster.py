"""Asks a running cluster about partitions: the thin shell around `ask_about`."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from logstore.topic_partition import TopicPartition
from replication.base.errors import ReplicationError
from replication.cluster.asking.questions import LivingCluster, ask_about
from replication.copies.planning.living_partition import LivingPartition
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.error_code import ErrorCode
from replication.wire.errors import UnsupportedVersionError
from replication.wire.messages.list_offsets import EARLIEST, LATEST, ListOffsetsRequest, OffsetQuestion


def ask_cluster(client: ClusterClient, partitions: Iterable[TopicPartition]) -> LivingCluster:
    """Ask about these partitions. Raises NotAnsweredError, NoBrokerError and other errors of connections."""
    questions = ask_about(partitions)
    try:
        request = next(questions)
        while True:
            try:
                answer = client.ask(request)
            except UnsupportedVersionError as error:
                request = questions.throw(error)
            else:
                request = questions.send(answer)
    except StopIteration as end:
        cluster: LivingCluster = end.value
        return cluster


def with_ends(
    client: ClusterClient, partitions: Mapping[TopicPartition, LivingPartition]
) -> dict[TopicPartition, LivingPartition]:
    """Ask each leader where its logs start, and for high watermarks; of one that does not answer neither is known.

    Brokers may write to the copies: those are to be read before, so that what is above was never below.
    """
    of_leader: dict[int, dict[TopicPartition, int]] = {}
    for partition, each in partitions.items():
        if each.leader is not None:
            of_leader.setdefault(each.leader, {})[partition] = each.leader_epoch
    starts: dict[TopicPartition, int] = {}
    ends: dict[TopicPartition, int] = {}
    for leader, led in of_leader.items():
        with suppress(ReplicationError, OSError):
            starts |= _listed(client, leader, led, EARLIEST)
            ends |= _listed(client, leader, led, LATEST)
    return {each: living.with_ends(starts.get(each), ends.get(each)) for each, living in partitions.items()}


def _listed(
    client: ClusterClient, leader: int, led: Mapping[TopicPartition, int], where: int
) -> Iterator[tuple[TopicPartition, int]]:
    questions = {partition: OffsetQuestion(where, epoch) for partition, epoch in led.items()}
    told = client.connection_to(leader).ask(ListOffsetsRequest(partitions=questions)).partitions
    return ((each, said.offset) for each, said in told.items() if said.error is ErrorCode.NONE and said.offset >= 0)
