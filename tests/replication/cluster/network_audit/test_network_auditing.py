"""A running cluster is audited over the network: what differs is found, and what moves is no finding."""

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from logstore.offline.partition_directory import PartitionDirectory
from replication.cluster.network_audit.network_auditing import NetworkAudit
from replication.cluster.network_audit.network_look import NetworkLook
from replication.cluster.network_audit.replicated_partition import ReplicatedPartition
from replication.copies.audit.local.live_look import LiveLook
from replication.copies.audit.pipeline.audit_options import AuditOptions
from replication.testing import Cluster
from replication.wire.client.cluster_client import ClusterClient
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.cluster.network_audit.changed_files import cut_out
from tests.replication.copies.audit.logs import change_record

RECORDS = 400


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3) as cluster:
        for topic in ("orders", "damaged", "cut"):
            cluster.create_topic(topic, replication_factor=3)
            write(cluster, topic, RECORDS)
        cluster.create_topic("empty", replication_factor=3)
        cluster.create_topic("keys", replication_factor=3, configs={"cleanup.policy": "compact"})
        write(cluster, "keys", RECORDS)
        yield cluster


def write(cluster: Cluster, topic: str, count: int) -> None:
    """Write batches of one record each."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "batch.num.messages": 1})
    for number in range(count):
        producer.produce(topic, b"value-%d" % number, b"key-%d" % (number % 50), partition=0)
    assert producer.flush(60) == 0


def audited(cluster: Cluster, *options: object) -> Outcome:
    return epochlog("audit", "--bootstrap", cluster.bootstrap, "--json", *options)


def verdicts(outcome: Outcome) -> dict[str, list[str]]:
    return {each["topic"]: each["verdicts"] for each in outcome.document["partitions"]}


def change_files(cluster: Cluster, topic: str, change: Callable[[PartitionDirectory], None]) -> str:
    """Change the files of a follower while it is stopped; return its name."""
    follower = next(each for each in (1, 2, 3) if each != cluster.leader(topic))
    cluster.stop(follower)
    change(PartitionDirectory.open(cluster.root(follower) / f"{topic}-0"))
    cluster.start(follower)
    for each in ("orders", "damaged", "cut", "empty", "keys"):
        cluster.wait_for_isr(each, size=3)
    return f"broker-{follower}"


@contextmanager
def writing(cluster: Cluster, topic: str) -> Iterator[None]:
    """Let a producer write all the time."""
    ended = threading.Event()

    def work() -> None:
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 0})
        while not ended.is_set():
            producer.produce(topic, b"value" * 20, b"key", partition=0)
            producer.flush(60)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_clean_cluster_is_clean_while_a_producer_writes(cluster: Cluster) -> None:
    with writing(cluster, "orders"):
        outcome = audited(cluster)
    assert verdicts(outcome) == {
        "cut": ["identical"],
        "damaged": ["identical"],
        "empty": ["identical"],
        "keys": ["identical"],
        "orders": ["identical"],
    }
    assert outcome.document["findings"] == []
    assert outcome.status == 0
    live = outcome.document["live"]
    assert (live["passes"], live["read_again"], live["bootstrap"]) == (1, [], cluster.bootstrap)
    branches = {each["topic"]: each["branches"] for each in outcome.document["partitions"]}
    assert [each["replica"] for each in branches["orders"]] == ["broker-1", "broker-2", "broker-3"]
    assert {each["records"] for each in branches["cut"]} == {RECORDS}


def test_only_the_chosen_topics_are_read(cluster: Cluster) -> None:
    outcome = audited(cluster, "--topics", "k*")
    assert verdicts(outcome) == {"keys": ["identical"]}
    assert outcome.document["left_out"] == 4


def test_what_will_be_read_is_known_beforehand_where_batches_are_alike(cluster: Cluster) -> None:
    with ClusterClient(cluster.bootstrap) as client:
        audit = NetworkAudit(client, cluster.bootstrap, AuditOptions(topics=["cut"], live=True))
        estimate, read = audit.estimate(), list[int]()
        audited = audit.carry_out(progress=read.append)
    assert sum(read) == audited.bytes
    assert 0.9 * audited.bytes < estimate.bytes < 1.1 * audited.bytes
    assert (estimate.partitions, estimate.replicas, estimate.brokers) == (1, 3, 3)


def test_no_more_is_read_than_the_rate_allows_and_the_result_is_the_same(cluster: Cluster) -> None:
    outcome = audited(cluster, "--topics", "cut", "--rate", 200_000)
    assert verdicts(outcome) == {"cut": ["identical"]}


def test_an_audit_that_was_interrupted_goes_on_behind_what_it_knows(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, looked, look = tmp_path / "state", list[str](), NetworkLook.at

    def interrupted(self: NetworkLook, partition: ReplicatedPartition) -> LiveLook:
        if len(looked) == 3:
            raise KeyboardInterrupt
        looked.append(partition.partition.topic)
        return look(self, partition)

    monkeypatch.setattr(NetworkLook, "at", interrupted)
    assert epochlog("audit", "--bootstrap", cluster.bootstrap, "--state", state).status == 130
    assert looked == ["cut", "damaged", "empty"]
    assert audited(cluster, "--state", state, "--topics", "cut").status == 2
    looked.clear()
    outcome = audited(cluster, "--state", state)
    assert looked == ["keys", "orders"]
    assert set(verdicts(outcome)) == {"cut", "damaged", "empty", "keys", "orders"}
    assert outcome.status == 0
    assert not state.exists()


@pytest.mark.usefixtures("alarmed")
def test_an_interruption_ends_what_other_threads_read_and_wait_for(cluster: Cluster) -> None:
    signal.alarm(60)
    main = threading.get_ident()
    with ClusterClient(cluster.bootstrap) as client:
        options = AuditOptions(topics=["cut"], live=True)
        audit = NetworkAudit(client, cluster.bootstrap, options, bytes_per_second=100)  # minutes
        with pytest.raises(KeyboardInterrupt):
            audit.carry_out(progress=lambda _: signal.pthread_kill(main, signal.SIGINT))


def test_what_is_said_names_what_was_not_seen(cluster: Cluster, tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    outcome = epochlog("audit", "--bootstrap", cluster.bootstrap, "--topics", "cut", "--report", page)
    assert outcome.status == 0
    assert re.search(r"about [\d,]+ bytes in 3 replicas of 1 partition on 3 brokers", outcome.err)
    assert "indexes, checkpoints and other files were not seen" in outcome.out
    assert "indexes, checkpoints and other files were not seen" in page.read_text()


def test_changed_records_and_missing_ones_of_a_follower_are_found(cluster: Cluster) -> None:
    changed = change_files(cluster, "damaged", lambda partition: change_record(partition, 100))
    lacking = change_files(cluster, "cut", lambda partition: cut_out(partition, 50, 59))
    outcome = audited(cluster, "--topics", "damaged,cut,empty")
    assert verdicts(outcome) == {"damaged": ["silent-divergence"], "cut": ["missing"], "empty": ["identical"]}
    kinds = {(each["topic"], each["kind"], each["offset"]) for each in outcome.document["findings"]}
    assert ("damaged", "silent-divergence", 100) in kinds
    assert ("cut", "offsets-missing", 50) in kinds
    assert outcome.status in {1, 3}
    pairs: list[dict[str, Any]] = [pair for each in outcome.document["partitions"] for pair in each["pairs"]]
    differing = [pair for pair in pairs if pair["first_difference"] is not None]
    assert {pair["first_difference"] for pair in differing} == {50, 100}
    assert all({changed, lacking} & {pair["leader"], pair["follower"]} for pair in differing)


def test_a_broker_that_is_down_makes_its_partitions_unknown_and_is_named(cluster: Cluster) -> None:
    follower = next(each for each in (1, 2, 3) if each != cluster.leader("empty"))
    cluster.kill(follower)
    try:
        cluster.wait_for_isr("empty", size=2)
        outcome = audited(cluster, "--topics", "empty", "--patience", 0)
    finally:
        cluster.start(follower)
        cluster.wait_for_isr("empty", size=3)
    assert verdicts(outcome) == {"empty": ["unknown"]}
    (finding,) = outcome.document["findings"]
    assert (finding["replica"], finding["kind"]) == (f"broker-{follower}", "file-unreadable")
    assert outcome.status == 2


def test_a_page_that_is_shared_names_no_address(cluster: Cluster, tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    outcome = audited(cluster, "--topics", "orders", "--report", page, "--share")
    for printed in (outcome.out, page.read_text()):
        assert "127.0.0.1" not in printed
        assert "copy-3" in printed
    assert outcome.document["live"]["bootstrap"].startswith("HOST:")
    assert verdicts(outcome) == {"orders": ["identical"]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--live"], "--live: with --bootstrap"),
        (["--workers", "2"], "--workers: with --bootstrap"),
        (["--engine", "local", "--master", "local[2]"], "--master: it is Spark's"),
        (["--engine", "spark", "broker-1"], "beside replicas that are read over the network"),
        (["--history", "runs"], "--history: with --bootstrap"),
    ],
)
def test_what_is_about_copies_on_disks_is_refused(options: list[str], said: str) -> None:
    outcome = epochlog("audit", "--bootstrap", "127.0.0.1:1", *options)
    assert outcome.status == 2
    assert said in outcome.err


def test_a_rate_without_a_cluster_is_refused_and_so_is_nothing_at_all(tmp_path: Path) -> None:
    assert "--rate: copies are read from disks" in epochlog("audit", tmp_path, "--rate", 5).err
    assert "with --bootstrap a cluster" in epochlog("audit").err


def test_a_cluster_that_does_not_answer_is_an_error() -> None:
    outcome = epochlog("audit", "--bootstrap", "127.0.0.1:1")
    assert outcome.status == 2
    assert "no broker answers" in outcome.err


def test_copies_that_are_named_are_read_from_disks_and_the_rest_over_the_network(cluster: Cluster) -> None:
    follower = next(each for each in (1, 2, 3) if each != cluster.leader("orders"))
    root = cluster.root(follower)
    outcome = audited(cluster, f"kept={root}", "--topics", "orders,empty")
    assert verdicts(outcome) == {"orders": ["identical"], "empty": ["identical"]}
    assert outcome.status == 0
    snapshots = {each["name"]: each["roots"] for each in outcome.document["snapshots"]}
    assert snapshots["kept"] == [str(root)]
    assert {len(names) for names in snapshots.values()} == {1}
    assert {root for names in snapshots.values() for root in names} - {str(root)} == {
        f"kafka://broker-{each}" for each in (1, 2, 3) if each != follower
    }
    refused = epochlog("audit", "--bootstrap", cluster.bootstrap, f"broker-{follower % 3 + 1}={root}")
    assert (refused.status, "NAME=" in refused.err) == (2, True)
