"""A real cluster of Kafka's brokers and one of ours, which is in a role that one of Kafka's is in too."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from confluent_kafka.admin import AdminClient, NewTopic

from bench.bench_lead import KAFKA, SETTINGS
from bench.produced import SECONDS
from bench.room import BUILD, require_room
from replication.wire.client.connection import Connection
from replication.wire.messages.describe_cluster import DescribeClusterRequest
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import BENCHMARKED
from tests.replication.cluster.node.joining.mixed_cluster import OURS, MixedCluster

LEADER, BESIDE = 1, 2
"""Kafka's brokers: the one that both others work with, and the one that takes turns with ours."""
KAFKAS_LAG_MS: Final = 30_000
"""Kafka's default. With the few seconds of tests a replica leaves the ISR where a thousand are made at once."""
OUR_BROKER: Final = "epochlog broker"
SIDES: Final = {KAFKA: BESIDE, OUR_BROKER: OURS}
"""Who takes turns in a role, and the broker's id."""
_JAVA: Final = ("-Xms512m", "-Xmx512m")
_LISTENERS: Final = {"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"}
_LOOK_SECONDS: Final = 0.02


@contextmanager
def joined_cluster(
    name: str,
    *,
    is_measured: bool,
    session_ms: int,
    disk: int,
    kafkas: int = 2,
    ours: Sequence[int] = (OURS,),
    settings: Mapping[str, object] | None = None,
) -> Iterator[MixedCluster]:
    """Run one below build/bench, with brokers that are silent for `session_ms` fenced; remove it in the end.

    Skips where there is no room for so many bytes on `disk`, and for the processes.
    """
    require_room(disk=disk, memory=4 << 30)
    directory = BUILD / name
    shutil.rmtree(directory, ignore_errors=True)
    session = {"broker.session.timeout.ms": session_ms}
    patient = {"replica.lag.time.max.ms": KAFKAS_LAG_MS}
    with MixedCluster(
        directory,
        BENCHMARKED,
        brokers=kafkas,
        settings={**SETTINGS, **_LISTENERS, **session, **patient, **(settings or {})},
        controller_settings=session,
        java_options=_JAVA if is_measured else None,
        ours=ours,
    ) as cluster:
        for node in cluster.ids:
            moment_when_unfenced(cluster, node)
        yield cluster
    shutil.rmtree(directory)


def create_partitions(admin: AdminClient, topic: str, replicas: list[int], count: int) -> None:
    """Make a topic of so many partitions, all of them on these brokers."""
    new = NewTopic(topic, count, replica_assignment=[replicas] * count)
    admin.create_topics([new], request_timeout=SECONDS, operation_timeout=SECONDS)[topic].result(SECONDS)


def moment_when(holds: Callable[[], bool], wanted: str) -> float:
    """Return when something held, by `perf_counter`."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"it never came true: {wanted}"
        time.sleep(_LOOK_SECONDS)
    return time.perf_counter()


def moment_when_unfenced(cluster: KafkaCluster, node: int) -> float:
    """Return when clients were told of a broker, by `perf_counter`: of those that are fenced they are not.

    librdkafka's AdminClient would wait for minutes if its first answer named no broker at all.
    """
    with Connection.open(cluster.bootstrap(LEADER)) as connection:
        return moment_when(
            lambda: node in connection.ask(DescribeClusterRequest(include_fenced_brokers=False)).brokers,
            f"broker {node} is unfenced",
        )
