"""Clusters for tests: what is done to their brokers is what clients meet."""

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.testing import CONTROLLER, Cluster
from replication.testing.errors import NotReachedError
from tests.replication.cluster.standalone.clients import produce, read

SAFE = {"min.insync.replicas": "2"}


@pytest.fixture
def cluster(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Cluster]:
    caplog.set_level(logging.CRITICAL, logger="epochlog")
    with Cluster(3, directory=tmp_path) as cluster:
        cluster.create_topic("orders", replicas=[[1, 2, 3]], configs=SAFE)
        yield cluster


def other_leader(cluster: Cluster, than: int) -> int:
    cluster.wait_until(lambda: cluster.leader("orders") not in {than, -1}, "another broker leads")
    return cluster.wait_for_leader("orders")


def test_clients_produce_and_consume(cluster: Cluster) -> None:
    assert not produce(cluster.bootstrap, "orders", [b"one", b"two"])
    assert [each.value for each in read(cluster.bootstrap, "orders")] == [b"one", b"two"]
    assert cluster.leader("orders") == 1


def test_what_was_acknowledged_outlives_its_leader_and_the_pages_that_it_loses(cluster: Cluster) -> None:
    assert not produce(cluster.bootstrap, "orders", [b"%d" % number for number in range(50)])
    assert cluster.kill(1, lose_unflushed=True) > 0
    assert other_leader(cluster, 1) in {2, 3}
    assert not produce(cluster.bootstrap, "orders", [b"after"])
    cluster.start(1)
    cluster.wait_for_isr("orders", size=3)
    assert len(read(cluster.bootstrap, "orders")) == 51
    cluster.wait_until(lambda: cluster.log(1, "orders").log_end_offset == 51, "the lost records are there again")


def test_a_broker_that_stops_in_order_loses_nothing_and_hands_over_first(cluster: Cluster) -> None:
    assert not produce(cluster.bootstrap, "orders", [b"kept"])
    cluster.stop(1)
    assert cluster.leader("orders") == 2
    assert (cluster.root(1) / ".kafka_cleanshutdown").exists()
    cluster.start(1)
    cluster.wait_for_isr("orders", size=3)


def test_a_topic_that_is_made_again_while_a_broker_is_down_comes_onto_it(cluster: Cluster) -> None:
    assert not produce(cluster.bootstrap, "orders", [b"earlier"])
    cluster.kill(3)
    cluster.wait_for_isr("orders", size=2)
    cluster.controller.decide(lambda deciding: deciding.delete_topics(["orders"]))
    cluster.create_topic("orders", replicas=[[1, 2, 3]], configs=SAFE)
    cluster.start(3)
    cluster.wait_for_isr("orders", size=3)
    assert not produce(cluster.bootstrap, "orders", [b"later"])
    cluster.wait_until(lambda: cluster.log(3, "orders").log_end_offset == 1, "the new topic's record is there")
    (stray,) = cluster.root(3).glob("orders-0.*-stray")
    assert (stray / f"{0:020}.log").stat().st_size > 0


def test_too_few_in_sync_refuse_what_asks_for_all(cluster: Cluster) -> None:
    for broker in (2, 3):
        cluster.kill(broker)
    cluster.wait_for_isr("orders", size=1)
    assert produce(cluster.bootstrap, "orders", [b"alone"], **{"message.timeout.ms": 2_000})
    assert not produce(cluster.bootstrap, "orders", [b"alone"], acks=1)


def test_a_follower_that_is_cut_off_leaves_the_isr_and_comes_back(cluster: Cluster) -> None:
    cluster.links.cut(1, 3)
    assert not produce(cluster.bootstrap, "orders", [b"without 3"])
    cluster.wait_for_isr("orders", size=2)
    assert 3 not in cluster.partition("orders").isr
    cluster.links.mend(1, 3)
    cluster.wait_for_isr("orders", size=3)


def test_a_leader_that_is_cut_off_from_the_controller_is_followed_by_another(cluster: Cluster) -> None:
    cluster.links.cut(1, CONTROLLER)
    assert other_leader(cluster, 1) in {2, 3}
    cluster.links.heal()
    cluster.wait_for_isr("orders", size=3)


def test_a_paused_broker_answers_nobody_until_it_is_resumed(cluster: Cluster) -> None:
    cluster.links.pause(1)
    assert other_leader(cluster, 1) in {2, 3}
    # A client may ask the paused broker first. On a busy machine it gives up on the leader too, and sends again what
    # that has already: only of an idempotent one is that known.
    impatient = {"socket.timeout.ms": 3_000, "enable.idempotence": True}
    assert not produce(cluster.bootstrap, "orders", [b"meanwhile"], **impatient)
    cluster.links.resume(1)
    cluster.wait_for_isr("orders", size=3)
    assert [each.value for each in read(cluster.bootstrap, "orders")] == [b"meanwhile"]


def test_a_slow_link_only_takes_time(cluster: Cluster) -> None:
    cluster.links.delay(1, 2, 0.05)
    assert not produce(cluster.bootstrap, "orders", [b"%d" % number for number in range(5)])
    assert len(cluster.partition("orders").isr) == 3


def test_what_makes_no_sense_is_refused(cluster: Cluster) -> None:
    with pytest.raises(ValueError, match="broker 1 is up"):
        cluster.start(1)
    cluster.kill(2)
    for use in (cluster.kill, cluster.stop, cluster.broker):
        with pytest.raises(ValueError, match="broker 2 is down"):
            use(2)
    with pytest.raises(ValueError, match="TOPIC_ALREADY_EXISTS"):
        cluster.create_topic("orders")
    with pytest.raises(NotReachedError, match=r"after 0\.1 seconds it does not hold that 3 replicas"):
        cluster.wait_until(lambda: False, "3 replicas", seconds=0.1)


def test_directories_stay_and_a_later_cluster_goes_on_with_them(tmp_path: Path) -> None:
    for number in range(2):
        with Cluster(1, directory=tmp_path) as cluster:
            if number == 0:
                cluster.create_topic("orders")
            cluster.wait_for_leader("orders")
            assert not produce(cluster.bootstrap, "orders", [b"%d" % number])
            assert [each.value for each in read(cluster.bootstrap, "orders")] == [b"0", b"1"][: number + 1]


def test_nothing_is_left_of_a_cluster_that_was_closed() -> None:
    before = set(threading.enumerate())
    with Cluster(2) as cluster:
        cluster.create_topic("orders", replication_factor=2)
        directory = cluster.directory
    left = [each for each in threading.enumerate() if each not in before]
    for thread in left:
        thread.join(10)
    assert not [each.name for each in left if each.is_alive()]
    assert not directory.exists()
