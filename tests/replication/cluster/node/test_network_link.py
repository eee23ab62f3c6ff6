"""Brokers that reach their controller over a network: they register, lead, follow, and change ISRs by its messages."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from logstore import Log
from logstore import TopicPartition as Partition
from logstore.directory.log_directories import LogDirectories
from logstore.file_name import META_PROPERTIES_NAME
from replication.base.clock import monotonic_ms
from replication.cluster.broker.replicas.moves.replica_moves import ReplicaMoves
from replication.cluster.node.asking.directory_assignments import DirectoryAssignments
from replication.cluster.node.asking.isr_queue import IsrQueue
from replication.cluster.standalone.requests.broker_requests import BrokerRequests
from replication.node import BrokerNode, BrokerNodeSettings
from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.image_changes import PartitionId
from replication.wire.messages.alter_partition import IsrChange
from replication.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from replication.wire.server.connections.listener_settings import ListenerSettings
from tests.replication.cluster.node.remote_cluster import LOOPBACK, SECONDS, SESSION_MS, RemoteCluster

TOPIC = "orders"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RemoteCluster]:
    with RemoteCluster(tmp_path) as cluster:
        yield cluster


def create(cluster: RemoteCluster, **settings: str) -> None:
    """Have a topic made by a broker, which passes that on, and wait for both replicas."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic(TOPIC, 1, 2, config=settings)])[TOPIC].result(SECONDS)
    cluster.wait_until(lambda: len(cluster.partition(TOPIC).isr) == 2)


def produce(cluster: RemoteCluster, *values: str) -> None:
    """Return once all in sync have all of them, each once."""
    settings = {"bootstrap.servers": cluster.bootstrap, "acks": "all", "enable.idempotence": True, "linger.ms": 0}
    producer = Producer(settings)
    failures = []
    for value in values:
        producer.produce(TOPIC, value, on_delivery=lambda error, _: failures.append(error) if error else None)
    assert producer.flush(SECONDS) == 0
    assert failures == []


def consumed(cluster: RemoteCluster, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        found = consumer.consume(count, SECONDS)
        return [(message.value() or b"").decode() for message in found]
    finally:
        consumer.close()


def stop_following(cluster: RemoteCluster, broker_id: int) -> None:
    """Let a follower fetch nothing until the metadata speaks of the partition again, as when the ISR shrinks."""
    fetchers = cluster.brokers[broker_id].node.replicas._fetchers
    cluster.wait_until(lambda: fetchers.state(Partition(TOPIC, 0)) is not None)
    fetchers.forget(Partition(TOPIC, 0))


def log(cluster: RemoteCluster, broker_id: int) -> Log:
    found = cluster.brokers[broker_id].node.replicas.hosted[Partition(TOPIC, 0)].log
    assert isinstance(found, Log)
    return found


def test_what_is_produced_is_on_both_replicas_and_is_consumed(cluster: RemoteCluster) -> None:
    create(cluster, **{"min.insync.replicas": "2"})
    values = [f"order {number}" for number in range(100)]
    produce(cluster, *values)
    assert {log(cluster, broker_id).log_end_offset for broker_id in (1, 2)} == {100}
    assert consumed(cluster, 100) == values


def test_a_leader_that_dies_is_followed_by_the_other_and_comes_back_into_the_isr(cluster: RemoteCluster) -> None:
    create(cluster)
    produce(cluster, "before")
    dead = cluster.partition(TOPIC).leader
    other = 3 - dead
    cluster.kill(dead)
    cluster.wait_until(lambda: cluster.partition(TOPIC).leader == other)
    assert cluster.partition(TOPIC).isr == (other,)
    produce(cluster, "between")
    cluster.start(dead)
    cluster.wait_until(lambda: set(cluster.partition(TOPIC).isr) == {dead, other})
    produce(cluster, "after")
    cluster.wait_until(lambda: log(cluster, dead).high_watermark == log(cluster, other).high_watermark == 3)
    assert consumed(cluster, 3) == ["before", "between", "after"]


def test_a_follower_that_lags_leaves_the_isr_and_joins_it_again_by_its_leaders_requests(cluster: RemoteCluster) -> None:
    create(cluster)
    before = cluster.partition(TOPIC)
    stop_following(cluster, 3 - before.leader)
    produce(cluster, "alone")
    cluster.wait_until(lambda: len(cluster.partition(TOPIC).isr) == 2)
    after = cluster.partition(TOPIC)
    assert (after.leader_epoch, after.partition_epoch) == (before.leader_epoch, before.partition_epoch + 2)


@pytest.mark.parametrize("broker_id", [1, 2], ids=["without a copy of the metadata", "with one"])
def test_a_broker_that_starts_again_is_led_by_what_was_decided_meanwhile(
    cluster: RemoteCluster, broker_id: int
) -> None:
    create(cluster)
    produce(cluster, "before")
    cluster.stop(broker_id)
    produce(cluster, "meanwhile")
    epoch = cluster.partition(TOPIC).leader_epoch
    node = cluster.start(broker_id)
    hosted = node.replicas.hosted[Partition(TOPIC, 0)]
    assert (hosted.led, hosted.leader_epoch) == (None, epoch)
    cluster.wait_until(lambda: len(cluster.partition(TOPIC).isr) == 2)
    assert log(cluster, broker_id).log_end_offset == 2


def test_a_broker_whose_place_another_process_takes_answers_nothing_more(
    cluster: RemoteCluster, tmp_path: Path
) -> None:
    create(cluster)
    first = cluster.brokers[1]
    first.node.lifecycle.stop()  # it is silent, and does not know that it is fenced
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    shutil.copy(first.directories.roots[0].root / META_PROPERTIES_NAME, copy)
    with LogDirectories.open([copy], replicated=True) as directories:
        cluster.wait_until(lambda: cluster.image.brokers[1].fenced)
        settings = BrokerNodeSettings(listener=ListenerSettings(address=LOOPBACK))
        with BrokerNode(cluster.link(directories), directories, settings):
            cluster.wait_until(lambda: first.node.failure is not None and not first.node.replicas.hosted)
    assert "another process has registered" in str(first.node.failure)


def test_a_broker_that_leaves_in_order_hands_over_what_it_leads(cluster: RemoteCluster) -> None:
    create(cluster)
    leader = cluster.partition(TOPIC).leader
    cluster.stop(leader)
    assert cluster.partition(TOPIC).leader == 3 - leader
    produce(cluster, "after")


def test_brokers_serve_on_while_the_controller_is_away_and_find_it_again(cluster: RemoteCluster) -> None:
    create(cluster)
    cluster.restart_controller()
    produce(cluster, "meanwhile")
    dead = cluster.partition(TOPIC).leader
    cluster.kill(dead)
    cluster.wait_until(lambda: cluster.partition(TOPIC).leader == 3 - dead)
    produce(cluster, "after")
    assert consumed(cluster, 2) == ["meanwhile", "after"]


def test_topics_that_clients_ask_for_are_made_by_the_controller(cluster: RemoteCluster) -> None:
    produce(cluster, "first")
    assert cluster.partition(TOPIC).replicas in {(1, 2), (2, 1)}


def test_what_administrators_ask_is_passed_on(cluster: RemoteCluster) -> None:
    create(cluster)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    entry = ConfigEntry("retention.ms", "5000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, TOPIC, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(SECONDS)
    assert cluster.image.configurations.of(ConfigResourceType.TOPIC, TOPIC)["retention.ms"] == "5000"
    admin.delete_topics([TOPIC])[TOPIC].result(SECONDS)
    assert not cluster.image.topics.by_name


def ask_for_an_isr(node: BrokerNode) -> None:
    node.replicas._isr_changes.ask(IsrChange(UUID(int=1), 0, 0, 0, ()))


def have_a_directory_to_tell(node: BrokerNode) -> None:
    node.replicas.unassigned[PartitionId(UUID(int=1), 0)] = UUID(int=2)


def move_a_replica(node: BrokerNode) -> None:
    node.replicas.moves.want(Partition(TOPIC, 0), node.directories.roots[0])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    ("owner", "work", "begin"),
    [
        (IsrQueue, "next", ask_for_an_isr),
        (DirectoryAssignments, "next", have_a_directory_to_tell),
        (ReplicaMoves, "_move_on", move_a_replica),
    ],
)
def test_a_thread_that_ends_by_a_fault_of_ours_is_the_brokers_failure(
    cluster: RemoteCluster,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    work: str,
    begin: Callable[[BrokerNode], None],
) -> None:
    create(cluster)
    node = cluster.brokers[1].node
    assert node.failure is None
    fault = ZeroDivisionError("a fault")

    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr(owner, work, fail)
    begin(node)
    cluster.wait_until(lambda: node.failure is fault)


def test_an_isr_changes_while_the_controller_answers_nothing_about_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, goes_on = Event(), Event()
    answer = BrokerRequests.answer

    def hold_up(requests: BrokerRequests, request: Any) -> Any:
        if isinstance(request, AssignReplicasToDirsRequest):
            told.set()
            goes_on.wait()
        return answer(requests, request)

    with RemoteCluster(tmp_path, request_timeout_ms=10 * SECONDS * 1_000) as cluster:
        create(cluster)
        monkeypatch.setattr(BrokerRequests, "answer", hold_up)
        before = cluster.partition(TOPIC)
        try:
            have_a_directory_to_tell(cluster.brokers[before.leader].node)
            assert told.wait(SECONDS)
            stop_following(cluster, 3 - before.leader)
            produce(cluster, "alone")
            cluster.wait_until(lambda: cluster.partition(TOPIC).partition_epoch > before.partition_epoch)
        finally:
            goes_on.set()


def test_a_leader_that_has_lost_its_session_by_its_own_clock_acknowledges_nothing(tmp_path: Path) -> None:
    with RemoteCluster(tmp_path, brokers=1, session_timeout_ms=SESSION_MS) as cluster:
        produce(cluster, "before")
        cluster.controller.close()
        node = cluster.brokers[1].node
        cluster.wait_until(lambda: node.session.is_over(monotonic_ms()))
        settings = {"bootstrap.servers": cluster.bootstrap, "acks": 1, "message.timeout.ms": 1_000}
        errors = []
        producer = Producer(settings)
        producer.produce(TOPIC, "after", on_delivery=lambda error, _: errors.append(error))
        producer.flush(SECONDS)
        assert errors[0] is not None
        assert log(cluster, 1).log_end_offset == 1
        cluster.controller = cluster._begun(cluster.controller.server.address)
        cluster.wait_until(lambda: not node.session.is_over(monotonic_ms()))
        produce(cluster, "again")
