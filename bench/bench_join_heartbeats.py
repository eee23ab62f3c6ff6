"""Whether a broker's heartbeats reach a real controller in time while clients take all that it has."""

import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place
from prometheus_client.parser import text_string_to_metric_families
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_lead import told
from bench.joined_cluster import LEADER, joined_cluster
from bench.measuring import is_measuring
from bench.produced import Load, Throughput, create_topic
from tests.oracle.broker import free_port
from tests.oracle.cluster import CONTROLLER
from tests.replication.cli.command import epochlog
from tests.replication.cluster.node.joining.mixed_cluster import OURS, MixedCluster

SESSION_MS, HEARTBEAT_MS = 4_000, 2_000
"""The interval is Kafka's own, and as long as a session of four seconds can bear."""
PATIENT_MS = 60_000
"""The session where nothing is measured: other work may keep Kafka's broker from its heartbeats for seconds."""
LOADED_SECONDS, SHORT_SECONDS = 60.0, 3.0
LOAD = Load(100, 16 << 10, acks="all")
"""Small batches cost a broker more of its processor than large ones."""
ROUND_BYTES = 1 << 20
PRODUCERS, CONSUMERS = 3, 3
POLL_SECONDS, AT_ONCE = 0.1, 10_000
GAP = "epochlog_broker_heartbeat_longest_gap_seconds"
AGE = "epochlog_broker_heartbeat_age_seconds"


def bench_heartbeats_under_full_load(benchmark: BenchmarkFixture, request: pytest.FixtureRequest) -> None:
    """Producers and consumers at their fastest, of what our broker leads and a real follower has."""
    metrics = free_port()
    is_measured = is_measuring(request.config)
    settings = {"broker.heartbeat.interval.ms": HEARTBEAT_MS, "metrics.listener": f"127.0.0.1:{metrics}"}
    with joined_cluster(
        "heartbeats",
        is_measured=is_measured,
        session_ms=SESSION_MS if is_measured else PATIENT_MS,
        disk=4 << 30,
        kafkas=1,
        settings=settings,
    ) as cluster:
        create_topic(cluster.bootstrap(LEADER), "loaded", [OURS, LEADER])
        with under_load(cluster.bootstrap(LEADER), "loaded") as done:
            seconds = LOADED_SECONDS if benchmark.enabled else SHORT_SECONDS
            benchmark.pedantic(time.sleep, args=(seconds,), rounds=1)
            known = scraped(metrics)
        assert done() > 0
        assert fencings(cluster) == 0, "the controller has fenced it"
    told(benchmark, {"longest gap, s": max(known[GAP], known[AGE]), "MB/s": done() / seconds / 1e6})


@contextmanager
def under_load(bootstrap: str, topic: str) -> Iterator[Callable[[], int]]:
    """Produce and consume as fast as it goes; gives how many bytes were produced."""
    ended = Event()
    produced: list[int] = []

    def produce() -> None:
        producer = Throughput(bootstrap, topic, LOAD)
        while not ended.is_set():
            producer.produce(ROUND_BYTES)
            produced.append(ROUND_BYTES)

    def consume() -> None:
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False})
        while not ended.is_set():  # from the beginning again and again: what there is to read never ends
            consumer.assign([Place(topic, 0, 0)])
            while not ended.is_set() and consumer.consume(AT_ONCE, POLL_SECONDS):
                pass
        consumer.close()

    with ExitStack() as stack:
        for work in [produce] * PRODUCERS + [consume] * CONSUMERS:
            thread = Thread(target=work)
            stack.callback(thread.join)
            thread.start()
        stack.callback(ended.set)
        yield lambda: sum(produced)


def scraped(port: int) -> dict[str, float]:
    """Return what our broker tells of itself without labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        families = text_string_to_metric_families(answer.read().decode())
    return {sample.name: sample.value for family in families for sample in family.samples if not sample.labels}


def fencings(cluster: MixedCluster) -> int:
    """Return how often the controller has fenced our broker, by its log."""
    logs = sorted(cluster.log_dir(CONTROLLER).glob("__cluster_metadata-0/*.log"))
    lines = [line for log in logs for line in epochlog("dump", log, "--records").out.splitlines()]
    changes = [line for line in lines if f"BROKER_REGISTRATION_CHANGE_RECORD broker_id: {OURS} " in line]
    assert any(" fenced: -1" in line for line in changes), "it was never unfenced: is this its log?"
    return sum(" fenced: 1" in line for line in changes)
