"""A broker's metrics, as things happen to the brokers of a cluster; and its log's lines, which `plan` foretells."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from logstore import TopicPartition
from replication.base.clock import monotonic_ms
from replication.cluster.broker.events.event_counts import EventCounts
from replication.cluster.broker.events.event_log import FIELDS, LOGGER_NAME
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.node.metrics import broker_metrics
from replication.cluster.node.metrics.idle_share import IdleShare
from replication.cluster.node.metrics.replica_metrics import replica_metrics
from replication.copies.planning.plan import plan
from replication.records.metadata.image import ClusterImage
from replication.testing import Cluster
from tests.oracle.jmx import Sample
from tests.replication.cluster.node.metrics.scraping import Scrape, looked_at
from tests.replication.cluster.node.remote_cluster import CONTROLLER_ID, RemoteCluster
from tests.replication.cluster.standalone.clients import produce, read
from tests.replication.testing.stopped_replicas import loaded

MANAGER = "kafka_server_replicamanager"
TOPICS = "kafka_server_brokertopicmetrics"
UNSAFE = {"unclean.leader.election.enable": "true"}
QUORUM = "kafka_server_raft_metrics"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    # Times that a busy machine keeps, so that nobody is taken for dead who is not.
    with Cluster(2, directory=tmp_path, session_timeout_ms=6_000, replica_lag_time_max_ms=3_000) as cluster:
        cluster.create_topic("orders", replicas=[[1, 2]], configs={"min.insync.replicas": "2", **UNSAFE})
        yield cluster


@pytest.fixture
def events(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.INFO, LOGGER_NAME):
        yield caplog


def look(cluster: Cluster, broker: int) -> Scrape:
    return looked_at(cluster.broker(broker))


def lines(events: pytest.LogCaptureFixture, event: str) -> list[dict[str, object]]:
    fields = [getattr(record, FIELDS) for record in events.records if record.name == LOGGER_NAME]
    return [each for each in fields if each["event"] == event]


def lag(scrape: Scrape) -> float | None:
    """Of the one partition that is followed; None: not known yet."""
    name, labels = "kafka_server_fetcherlagmetrics_consumerlag", {"topic": "orders", "partition": "0"}
    wanted = frozenset({"clientId": "ReplicaFetcherThread-0-1", **labels}.items())
    return scrape.get(Sample(name, wanted))


def test_what_goes_in_and_out(cluster: Cluster) -> None:
    assert not produce(cluster.bootstrap, "orders", [b"%d" % number for number in range(100)])
    assert len(read(cluster.bootstrap, "orders")) == 100
    cluster.wait_until(lambda: cluster.log(2, "orders").log_end_offset == 100, "the follower has all")
    leader, follower = look(cluster, 1), look(cluster, 2)
    size = cluster.log(1, "orders").size
    for labels in ({}, {"topic": "orders"}):
        assert leader.value(f"{TOPICS}_messagesin_total", **labels) == 100
        assert leader.value(f"{TOPICS}_bytesin_total", **labels) == size
        assert leader.value(f"{TOPICS}_bytesout_total", **labels) == size
        assert follower.value(f"{TOPICS}_messagesin_total", **labels) == 0
    assert leader.value(f"{TOPICS}_replicationbytesout_total") == size
    assert follower.value(f"{TOPICS}_replicationbytesin_total") == size
    assert leader.value("kafka_log_log_size", topic="orders", partition=0) == size
    assert follower.value("kafka_log_log_logendoffset", topic="orders", partition=0) == 100


def test_requests_are_counted_by_version_and_a_fetch_by_who_fetches(cluster: Cluster) -> None:
    assert not produce(cluster.bootstrap, "orders", [b"one"])
    read(cluster.bootstrap, "orders")
    leader = look(cluster, 1)
    times = "kafka_network_requestmetrics_totaltimems"
    for request in ("Produce", "FetchConsumer", "FetchFollower"):
        assert leader.value(f"{times}_count", request=request) >= 1
        assert leader.value(times, request=request, quantile="0.99") > 0
    count = leader.value(f"{times}_count", request="Fetch")
    assert count == sum(leader.value(f"{times}_count", request=f"Fetch{who}") for who in ("Consumer", "Follower"))
    by_version = [
        value
        for sample, value in leader.items()
        if sample.name == "kafka_network_requestmetrics_requests_total" and ("request", "Fetch") in sample.labels
    ]
    assert sum(by_version) == count


def test_the_parts_of_a_requests_time_add_up_and_a_follower_waits_more_than_it_costs(cluster: Cluster) -> None:
    assert not produce(cluster.bootstrap, "orders", [b"one"])
    read(cluster.bootstrap, "orders")
    leader = look(cluster, 1)
    names = [f"kafka_network_requestmetrics_{part}" for part in ("localtimems", "remotetimems", "responsesendtimems")]
    for request in ("Produce", "FetchConsumer", "FetchFollower"):
        total = leader.value("kafka_network_requestmetrics_totaltimems_sum", request=request)
        assert sum(leader.value(f"{name}_sum", request=request) for name in names) == pytest.approx(total)
        assert {leader.value(f"{name}_count", request=request) for name in names} == {
            leader.value("kafka_network_requestmetrics_totaltimems_count", request=request)
        }
    local, waiting, _ = (leader.value(f"{name}_sum", request="FetchFollower") for name in names)
    assert waiting > local
    # A client asks whichever broker it reaches first.
    metadata = Sample(f"{names[1]}_sum", frozenset({("request", "Metadata")}))
    assert {scrape[metadata] for scrape in (leader, look(cluster, 2)) if metadata in scrape} == {0}


def test_a_follower_that_falls_behind_and_comes_back(cluster: Cluster, events: pytest.LogCaptureFixture) -> None:
    assert not produce(cluster.bootstrap, "orders", [b"before"])
    healthy = look(cluster, 1)
    assert healthy.value(f"{MANAGER}_underreplicatedpartitions") == 0
    assert healthy.value(f"{MANAGER}_atminisrpartitioncount") == 1
    shrunk_before = healthy.value(f"{MANAGER}_isrshrinks_total")
    events.clear()
    cluster.links.cut(1, 2)
    assert not produce(cluster.bootstrap, "orders", [b"during"], acks=1)
    cluster.wait_until(lambda: len(lines(events, "isr-change")) == 1, "the leader knows")
    behind = look(cluster, 1)
    for name in ("underreplicatedpartitions", "underminisrpartitioncount"):
        assert behind.value(f"{MANAGER}_{name}") == 1
    assert behind.value(f"{MANAGER}_isrshrinks_total") == shrunk_before + 1
    assert behind.value("kafka_cluster_partition_underreplicated", topic="orders", partition=0) == 1
    assert behind.value("kafka_cluster_partition_insyncreplicascount", topic="orders", partition=0) == 1
    assert behind.value("epochlog_broker_replica_lag", topic="orders", partition=0, replica=2) == 1
    assert look(cluster, 2).value(f"{MANAGER}_underreplicatedpartitions") == 0  # leaders tell
    cluster.links.mend(1, 2)
    cluster.wait_for_isr("orders", size=2)
    cluster.wait_until(lambda: len(lines(events, "isr-change")) == 2, "the leader knows")
    again = look(cluster, 1)
    assert again.value(f"{MANAGER}_underreplicatedpartitions") == 0
    assert again.value(f"{MANAGER}_isrexpands_total") >= 1
    left, joined = lines(events, "isr-change")
    assert (left["from"], left["to"]) == ("1,2", "1")
    assert str(left["why"]).startswith("not caught up for 3000 ms: broker 2 at ")
    assert (joined["from"], joined["to"]) == ("1", "1,2")


def test_who_leads_and_what_state_the_broker_is_in(cluster: Cluster) -> None:
    leader, follower = look(cluster, 1), look(cluster, 2)
    for scrape in (leader, follower):
        assert scrape.value("kafka_server_kafkaserver_brokerstate") == 3
        assert scrape.value(f"{MANAGER}_partitioncount") == 1
    assert leader.value(f"{MANAGER}_leadercount") == 1
    assert follower.value(f"{MANAGER}_leadercount") == 0
    cluster.wait_until(lambda: lag(look(cluster, 2)) == 0, "its lag is known")
    assert follower.value("kafka_server_replicafetchermanager_maxlag", clientId="Replica") == 0
    offset = "kafka_server_broker_metadata_metrics_last_applied_record_offset"
    assert leader.value(offset) == cluster.broker(1).applied_offset


def test_how_long_ago_the_controller_was_heard(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    session, now = cluster.broker(1).session, monotonic_ms() + 1_000_000
    monkeypatch.setattr(broker_metrics, "monotonic_ms", lambda: now)
    before = session.heard_at
    age = look(cluster, 1).value("epochlog_broker_heartbeat_age_seconds")
    after = session.heard_at
    assert before is not None
    assert after is not None
    assert (now - after) / 1_000 <= age <= (now - before) / 1_000


def test_how_idle_it_is(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IdleShare, "take", lambda _: 0.25)
    idle = look(cluster, 1).value("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent")
    assert idle == 0.25


def test_a_truncation_is_told_with_the_figures_of_plan(cluster: Cluster, events: pytest.LogCaptureFixture) -> None:
    cluster.create_topic("risky", replicas=[[1, 2]], configs=UNSAFE)
    partition = TopicPartition("risky", 0)
    assert not produce(cluster.bootstrap, "risky", [b"%d" % number for number in range(20)])
    cluster.links.cut(1, 2)
    # By what comes first a fetch is answered that waits already.
    for values in ([b"for both, maybe"], [b"only here %d" % number for number in range(30)]):
        assert not produce(cluster.bootstrap, "risky", values, acks=1)
    cluster.wait_for_isr("risky", size=1)
    cluster.kill(1)
    cluster.links.heal()
    cluster.wait_until(lambda: cluster.leads("risky") and cluster.leader("risky") == 2, "the other leads, uncleanly")
    assert not produce(cluster.bootstrap, "risky", [b"instead"], acks=1)
    foretold = plan(loaded(cluster.root(2), partition), loaded(cluster.root(1), partition))
    assert foretold.records_lost >= 30
    assert [each["why"] for each in lines(events, "role-change") if each["topic"] == "risky"][-1] == "elected uncleanly"
    events.clear()
    cluster.start(1)
    cluster.wait_for_isr("risky", size=2)
    (line,) = lines(events, "truncation")
    assert (line["from"], line["to"]) == (foretold.log_end_offset, foretold.truncate_to)
    assert (line["records"], line["bytes"]) == (foretold.records_lost, foretold.bytes_lost)
    assert line["leader_epoch"] == cluster.partition("risky").leader_epoch
    scrape = look(cluster, 1)
    assert scrape.value("epochlog_broker_truncated_records_total") == foretold.records_lost
    truncations = (scrape.value("epochlog_broker_truncations_total", below_high_watermark=b) for b in ("true", "false"))
    assert sum(truncations) == 1
    roles = [each for each in lines(events, "role-change") if each["topic"] == "risky"]
    assert [(each["from"], each["to"], each["leader"]) for each in roles] == [("none", "follower", 2)]


def test_replicas_that_cannot_be_used_are_offline_and_counted() -> None:
    hosted = HostedPartitions()
    hosted.offline.add(TopicPartition("orders", 0))
    samples = {
        each.name: each.value
        for family in replica_metrics(hosted, ClusterImage(), EventCounts())
        for each in family.samples
    }
    assert samples[f"{MANAGER}_offlinereplicacount"] == samples[f"{MANAGER}_partitioncount"] == 1
    assert samples[f"{MANAGER}_leadercount"] == 0


def test_who_leads_and_how_far_the_copy_goes(tmp_path: Path) -> None:
    with RemoteCluster(tmp_path, 1) as cluster:
        node = cluster.brokers[1].node
        log = cluster.controller.controller.metadata.log
        cluster.wait_until(lambda: looked_at(node).value(f"{QUORUM}_high_watermark") == log.high_watermark > 0)
        told = looked_at(node)
        assert told.value(f"{QUORUM}_current_leader") == CONTROLLER_ID
        assert told.value(f"{QUORUM}_current_epoch") == log.epochs.latest_epoch
        assert told.value(f"{QUORUM}_log_end_epoch") == log.epochs.latest_epoch
        assert told.value(f"{QUORUM}_log_end_offset") >= told.value(f"{QUORUM}_high_watermark")
        cluster.controller.close()
        cluster.wait_until(lambda: looked_at(node).value(f"{QUORUM}_current_leader") == -1)


def test_a_broker_whose_controller_is_in_its_process_follows_none(tmp_path: Path) -> None:
    with Cluster(1, directory=tmp_path) as cluster:
        assert not [each for each in looked_at(cluster.broker(1)) if each.name.startswith(QUORUM)]
