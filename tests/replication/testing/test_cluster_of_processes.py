"""Clusters whose brokers are processes: what is done to these is what clients meet."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.testing import CONTROLLER, Cluster
from replication.testing.errors import BrokerProcessError
from tests.replication.cluster.standalone.clients import produce, read

SAFE = {"min.insync.replicas": "2"}
SECONDS = 60.0


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(3, directory=tmp_path_factory.mktemp("cluster"), processes=True) as cluster:
        yield cluster


@pytest.fixture
def cluster(running: Cluster, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """All brokers in sync, and a topic of the test's own, led by broker 1."""
    running.create_topic(topic_of(request), replicas=[[1, 2, 3]], configs=SAFE)
    yield running
    running.links.heal()
    for broker in (1, 2, 3):
        running.links.resume(broker)
        if not running.is_up(broker):
            running.start(broker)
    running.wait_for_isr(topic_of(request), size=3, seconds=SECONDS)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return topic_of(request)


def topic_of(request: pytest.FixtureRequest) -> str:
    return f"topic-{request.node.name[-40:]}"


def other_leader(cluster: Cluster, topic: str) -> int:
    cluster.wait_until(lambda: cluster.leader(topic) not in {1, -1}, "another broker leads")
    return cluster.wait_for_leader(topic)


def test_what_was_acknowledged_outlives_its_leaders_process_and_the_pages_that_it_loses(
    cluster: Cluster, topic: str
) -> None:
    assert not produce(cluster.bootstrap, topic, [b"%d" % number for number in range(50)])
    assert cluster.kill(1, lose_unflushed=True) > 0
    assert other_leader(cluster, topic) in {2, 3}
    assert not produce(cluster.bootstrap, topic, [b"after"])
    cluster.start(1)
    cluster.wait_for_isr(topic, size=3, seconds=SECONDS)
    assert len(read(cluster.bootstrap, topic)) == 51


def test_a_broker_that_stops_in_order_loses_nothing_and_hands_over_first(cluster: Cluster, topic: str) -> None:
    assert not produce(cluster.bootstrap, topic, [b"kept"])
    cluster.stop(1)
    assert cluster.leader(topic) in {2, 3}
    assert (cluster.root(1) / ".kafka_cleanshutdown").exists()
    # A leader learns from its followers what was committed before it led: with this it has.
    assert not produce(cluster.bootstrap, topic, [b"after"])
    assert [each.value for each in read(cluster.bootstrap, topic)] == [b"kept", b"after"]


def test_a_follower_that_is_cut_off_leaves_the_isr_and_comes_back(cluster: Cluster, topic: str) -> None:
    cluster.links.cut(1, 3)
    assert not produce(cluster.bootstrap, topic, [b"without 3"])
    cluster.wait_for_isr(topic, size=2)
    assert 3 not in cluster.partition(topic).isr
    cluster.links.mend(1, 3)
    cluster.wait_for_isr(topic, size=3, seconds=SECONDS)


def test_a_leader_that_is_cut_off_from_the_controller_is_followed_by_another(cluster: Cluster, topic: str) -> None:
    cluster.links.cut(1, CONTROLLER)
    assert other_leader(cluster, topic) in {2, 3}


def test_a_process_that_stands_still_answers_nobody_until_it_goes_on(cluster: Cluster, topic: str) -> None:
    cluster.links.pause(1)
    assert other_leader(cluster, topic) in {2, 3}
    assert not produce(cluster.bootstrap, topic, [b"meanwhile"])
    cluster.links.resume(1)
    cluster.wait_for_isr(topic, size=3, seconds=SECONDS)
    assert [each.value for each in read(cluster.bootstrap, topic)] == [b"meanwhile"]


def test_a_slow_link_only_takes_time(cluster: Cluster, topic: str) -> None:
    cluster.links.delay(1, 2, 0.05)
    assert not produce(cluster.bootstrap, topic, [b"%d" % number for number in range(5)])
    cluster.wait_for_isr(topic, size=3, seconds=SECONDS)


def test_what_makes_no_sense_is_refused(cluster: Cluster, topic: str) -> None:
    with pytest.raises(ValueError, match="broker 1 is up"):
        cluster.start(1)
    cluster.links.pause(2)
    with pytest.raises(ValueError, match="broker 2 is paused: resume it first"):
        cluster.stop(2)
    cluster.kill(2)
    for use in (cluster.kill, cluster.stop):
        with pytest.raises(ValueError, match="broker 2 is down"):
            use(2)
    with pytest.raises(ValueError, match="broker 1 is a process of its own: ask it over the network, at 127"):
        cluster.log(1, topic)


def test_a_broker_that_cannot_start_says_why(cluster: Cluster) -> None:
    cluster.kill(2)
    properties = cluster.root(2) / "meta.properties"
    kept = properties.read_bytes()
    properties.write_bytes(b"version=9\n")
    try:
        with pytest.raises(BrokerProcessError, match=r"status 1: .*broker-2\.log ends with\n(.*\n)*.*version 9 is not"):
            cluster.start(2)
    finally:
        properties.write_bytes(kept)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process that stands still outlives its parent")
def test_brokers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from replication.testing import Cluster
if __name__ == "__main__":
    with Cluster(2, directory=Path({str(tmp_path)!r}), processes=True) as cluster:
        cluster.links.pause(2)
        print(*(cluster.pid(each) for each in (1, 2)), flush=True)
        sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        brokers = [int(each) for each in parent.stdout.readline().split()]
        assert len(brokers) == 2
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    deadline = time.monotonic() + SECONDS
    while any(map(is_alive, brokers)):
        assert time.monotonic() < deadline, "brokers are left behind"
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may still wait to be reaped by whoever inherited it."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_nothing_is_left_of_a_cluster_that_was_closed() -> None:
    with Cluster(2, processes=True) as cluster:
        cluster.create_topic("orders", replication_factor=2)
        directory = cluster.directory
        pids = [cluster.pid(broker) for broker in (1, 2)]
    assert not directory.exists()
    for pid in pids:
        assert pid is not None
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
