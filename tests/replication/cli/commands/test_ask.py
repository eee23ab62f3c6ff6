"""Commands that read copies, with a running cluster that is asked (`--ask`) for what files do not show."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from replication.testing import Cluster
from tests.oracle.cluster import free_port
from tests.replication.cli.command import epochlog

BEHIND = 3


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Broker 1 has led `t` ever since; broker 3 has been down since the first ten records."""
    with Cluster(brokers=3, directory=tmp_path_factory.mktemp("asked")) as cluster:
        settings = {"min.insync.replicas": "2", "cleanup.policy": "delete"}
        cluster.create_topic("t", replication_factor=3, configs=settings)
        while cluster.leader("t") == BEHIND:
            cluster.stop(BEHIND)
            cluster.wait_for_leader("t")
            cluster.start(BEHIND)
        cluster.wait_for_isr("t", size=3)
        produce(cluster, 10)
        cluster.stop(BEHIND)
        cluster.wait_for_isr("t", size=2)
        produce(cluster, 20)
        yield cluster


def produce(cluster: Cluster, count: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 0})
    for number in range(count):
        producer.produce("t", b"value-%d" % number, partition=0)
        assert producer.flush(60) == 0


def test_plan_says_who_can_lead_and_what_of_the_lost_is_committed(cluster: Cluster) -> None:
    leader = cluster.leader("t")
    roots = "--leader", cluster.root(BEHIND), "--follower", cluster.root(leader)
    outcome = epochlog("plan", *roots, "--ask", cluster.bootstrap, "--json")
    [planned] = [each for each in outcome.document["partitions"] if each["topic"] == "t"]
    assert (planned["truncate_to"], planned["committed_lost"], planned["electable"]) == (10, 20, "unclean")
    told = planned["cluster"]
    assert (told["leader"], told["high_watermark"], told["log_start_offset"]) == (leader, 30, 0)
    assert (told["min_insync_replicas"], told["unclean_allowed"], told["compacted"]) == (2, False, False)
    assert BEHIND not in told["isr"]
    assert outcome.status == 3
    words = " ".join(epochlog("plan", *roots, "--ask", cluster.bootstrap).out.split())
    assert f"broker {leader} leads in epoch" in words
    assert "can lead only by an unclean election, which somebody has to ask for" in words
    assert "20 offsets of what is lost are below the high watermark" in words


def test_plan_asks_nobody_unless_it_is_to(cluster: Cluster) -> None:
    roots = "--leader", cluster.root(BEHIND), "--follower", cluster.root(cluster.leader("t"))
    outcome = epochlog("plan", *roots, "--json")
    [planned] = [each for each in outcome.document["partitions"] if each["topic"] == "t"]
    assert (planned["cluster"], planned["electable"], planned["committed_lost"]) == (None, None, None)
    assert outcome.status == 1
    refused = epochlog("plan", *roots, "--command-config", "client.properties")
    assert refused.status == 2
    assert "--ask" in refused.err


def test_explain_takes_what_the_copies_lack_for_written_since(cluster: Cluster) -> None:
    asked = "explain", "t-0", cluster.root(BEHIND), "--offsets", "0:40", "--json"
    alone, told = epochlog(*asked).document, epochlog(*asked, "--ask", cluster.bootstrap).document
    assert alone["counts"] == {"delivered": 10, "never-written": 30}
    assert told["counts"] == {"delivered": 10, "never-written": 10, "beyond-the-copies": 20}
    [beyond] = [each for each in told["ranges"] if each["why"] == "beyond-the-copies"]
    assert (beyond["first_offset"], beyond["last_offset"]) == (10, 29)
    assert beyond["evidence"] == "the cluster's high watermark is 30: committed, and every copy ends before it"
    assert (alone["cluster"], told["cluster"]["high_watermark"]) == (None, 30)


def test_a_sink_may_have_what_the_copies_lack(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "sink.txt").write_text("".join(f"{number}\n" for number in (*range(30), 35)))
    asked = "explain", "t-0", cluster.root(BEHIND), "--got", tmp_path / "sink.txt", "--json"
    of_ranges = [
        [(each["first_offset"], each["last_offset"]) for each in epochlog(*asked, *more).document["unexpected"]]
        for more in ([], ["--ask", cluster.bootstrap])
    ]
    assert of_ranges == [[(10, 29), (35, 35)], [(35, 35)]]


def test_explain_says_what_the_cluster_answers(cluster: Cluster) -> None:
    out = " ".join(epochlog("explain", "t-0", cluster.root(BEHIND), "--ask", cluster.bootstrap).out.split())
    assert f"By the cluster: broker {cluster.leader('t')} leads in epoch" in out
    assert "high watermark 30" in out


def test_a_cluster_that_is_not_there_is_an_error(cluster: Cluster) -> None:
    asked = "explain", "t-0", cluster.root(BEHIND), "--ask", f"127.0.0.1:{free_port()}"
    outcome = epochlog(*asked)
    assert outcome.status == 2
    assert "127.0.0.1" in outcome.err


def test_another_cluster_is_not_asked_about_these_copies(cluster: Cluster, tmp_path: Path) -> None:
    root = tmp_path / "broker-9"
    root.mkdir()
    properties = (cluster.root(BEHIND) / "meta.properties").read_text()
    cluster_id = next(line for line in properties.splitlines() if line.startswith("cluster.id="))
    (root / "meta.properties").write_text(properties.replace(cluster_id, "cluster.id=another"))
    (root / "t-0").mkdir()
    for each in (cluster.root(BEHIND) / "t-0").iterdir():
        (root / "t-0" / each.name).write_bytes(each.read_bytes())
    outcome = epochlog("explain", "t-0", root, "--ask", cluster.bootstrap)
    assert outcome.status == 2
    assert "different clusters" in outcome.err
