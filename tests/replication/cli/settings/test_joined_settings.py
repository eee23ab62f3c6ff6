"""What administrators set while `epochlog broker` runs holds: for it, for all brokers, and for reassignments."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from tests.oracle.cluster import CLUSTER_ID, KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.cli.commands.test_broker_in_a_real_cluster import wait_until
from tests.replication.cli.settings.joining import SECONDS, joined, server_properties
from tests.replication.cluster.broker.member import SESSION_MS, controllers, create_topic
from tests.replication.told_partition import told_partition

OURS, THEIRS = 9, 1
TOOLS = "org.apache.kafka.tools"
RECORDS, RECORD_BYTES = 64, 256 << 10
"""More than ten answers to a follower: at the least rate there is one in eleven seconds."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[KafkaCluster]:
    directory = tmp_path_factory.mktemp("cluster")
    with KafkaCluster(directory, release, controller_settings={"broker.session.timeout.ms": SESSION_MS}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def ours(cluster: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Where our broker listens, and its directory."""
    directory = tmp_path_factory.mktemp("ours")
    config = server_properties(directory, controllers(cluster), OURS)
    assert epochlog("format", "--config", config, "--cluster-id", CLUSTER_ID).status == 0
    with joined(config) as (process, told):
        yield told["bootstrap"], directory / f"ours-{OURS}"
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0


def partition(bootstrap: str, topic: str) -> Any:
    return told_partition(AdminClient({"bootstrap.servers": bootstrap}), topic)


def size(root: Path, topic: str) -> int:
    """How much a replica has."""
    path = root / f"{topic}-0" / f"{0:020}.log"
    return path.stat().st_size if path.exists() else 0


def produce(bootstrap: str, topic: str, count: int, value: bytes, acks: str = "all") -> None:
    errors = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": acks, "message.timeout.ms": 20_000, "linger.ms": 0})
    for _ in range(count):
        producer.produce(topic, value, partition=0, on_delivery=lambda error, _: errors.append(error))
        producer.flush(SECONDS)
    if any(errors):
        raise KafkaException(next(filter(None, errors)))


@pytest.mark.parametrize(("leader", "follower"), [(THEIRS, OURS), (OURS, THEIRS)], ids=["to ours", "from ours"])
def test_a_reassignment_keeps_to_its_throttle_until_that_is_raised(
    cluster: KafkaCluster, ours: tuple[str, Path], leader: int, follower: int
) -> None:
    topic = f"moved-{leader}"
    theirs = cluster.bootstrap(THEIRS)
    create_topic(cluster, topic, [leader])
    produce(theirs, topic, RECORDS, bytes(RECORD_BYTES), acks="1")
    root = {OURS: ours[1], THEIRS: cluster.log_dir(THEIRS)}[follower]
    plan = cluster.directory / "throttled.json"
    moved = {"topic": topic, "partition": 0, "replicas": [leader, follower]}
    plan.write_text(json.dumps({"version": 1, "partitions": [moved]}))

    def reassign(*arguments: object) -> str:
        to = ("--bootstrap-server", theirs, "--reassignment-json-file", plan)
        return cluster.run_tool(f"{TOOLS}.reassign.ReassignPartitionsCommand", *to, *arguments)

    reassign("--execute", "--throttle", 1)
    wait_until(lambda: size(root, topic) > 0)
    assert "is still in progress" in reassign("--verify")
    assert size(root, topic) < RECORDS * RECORD_BYTES
    assert partition(theirs, topic).isrs == [leader]
    reassign("--execute", "--additional", "--throttle", 1 << 30)
    wait_until(lambda: sorted(partition(theirs, topic).isrs) == sorted((leader, follower)))
    wait_until(lambda: size(root, topic) > RECORDS * RECORD_BYTES)
    assert "is completed" in reassign("--verify")


def configure(cluster: KafkaCluster, bootstrap: str, *arguments: object) -> None:
    tool = "kafka.admin.ConfigCommand" if cluster.release.is_before_4_4 else f"{TOOLS}.ConfigCommand"
    cluster.run_tool(tool, "--bootstrap-server", bootstrap, "--alter", *arguments)


def is_accepted(bootstrap: str, topic: str, value: bytes) -> bool:
    try:
        produce(bootstrap, topic, 1, value)
    except KafkaException:
        return False
    return True


@pytest.mark.parametrize("whose", [("--entity-name", OURS), ("--entity-default",)], ids=["its own", "of all"])
def test_settings_of_brokers_hold_while_they_run(
    cluster: KafkaCluster, ours: tuple[str, Path], whose: tuple[object, ...]
) -> None:
    topic, bootstrap = f"set-{len(whose)}", ours[0]
    create_topic(cluster, topic, [OURS])
    of = ("--entity-type", "brokers", *whose)
    assert is_accepted(bootstrap, topic, bytes(2_000))
    configure(cluster, bootstrap, *of, "--add-config", "message.max.bytes=1000")
    wait_until(lambda: not is_accepted(bootstrap, topic, bytes(2_000)))
    configure(cluster, bootstrap, *of, "--delete-config", "message.max.bytes")
    wait_until(lambda: is_accepted(bootstrap, topic, bytes(2_000)))


def test_what_makes_no_difference_is_refused_and_what_was_set_elsewhere_is_told_not_to_hold(
    cluster: KafkaCluster, ours: tuple[str, Path]
) -> None:
    admin = AdminClient({"bootstrap.servers": ours[0]})
    threads = ConfigEntry("num.io.threads", "4", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.BROKER, str(OURS), incremental_configs=[threads])

    def described() -> ConfigEntry | None:
        entries: dict[str, ConfigEntry] = admin.describe_configs([resource])[resource].result(SECONDS)
        return entries.get("num.io.threads")

    with pytest.raises(KafkaException, match=r"num\.io\.threads: makes no difference here: threads come and go"):
        admin.incremental_alter_configs([resource])[resource].result(SECONDS)
    assert described() is None
    of_all = ("--entity-type", "brokers", "--entity-default")
    configure(cluster, cluster.bootstrap(THEIRS), *of_all, "--add-config", "num.io.threads=4")
    wait_until(lambda: described() is not None)
    told = described()
    assert told is not None
    assert (told.value, told.is_read_only) == (None, True)
