"""The metadata that `epochlog broker` keeps is as Kafka keeps it: its tool prints it, its broker goes on from it."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from replication.records.metadata.loading import load_image
from replication.records.metadata.snapshot import MetadataSnapshot
from tests.oracle.cluster import CLUSTER_ID, CONTROLLER, KafkaCluster
from tests.oracle.kafka import classpath, kafka_options
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.cli.commands.test_broker_in_a_real_cluster import wait_until
from tests.replication.cli.settings.joining import SECONDS, joined, server_properties
from tests.replication.cluster.broker.member import SESSION_MS, controllers

SMALL = {
    "metadata_log_max_record_bytes_between_snapshots": 2_000,
    "metadata_max_retention_bytes": 4_000,
    # Or it would have topics made that are none of those below.
    "start_without_coordinators": "true",
}
TOPICS = 100


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[KafkaCluster]:
    directory = tmp_path_factory.mktemp("cluster")
    with KafkaCluster(directory, release, controller_settings={"broker.session.timeout.ms": SESSION_MS}) as cluster:
        yield cluster


def test_its_snapshots_are_read_by_kafkas_tool_and_gone_on_from_by_kafkas_broker(
    cluster: KafkaCluster, release: KafkaRelease, tmp_path: Path
) -> None:
    config = server_properties(tmp_path, controllers(cluster), **SMALL)
    # Kafka's broker finds voters that are said nowhere in the metadata by this name alone.
    voters = f"controller.quorum.voters={CONTROLLER}@"
    config.write_text(config.read_text().replace("controller.quorum.bootstrap.servers=", voters))
    assert epochlog("format", "--config", config, "--cluster-id", CLUSTER_ID).status == 0
    copy = tmp_path / "ours-9" / "__cluster_metadata-0"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(1)})
    made = admin.create_topics([NewTopic(f"topic-{number}", 1, 1) for number in range(TOPICS)])
    for future in made.values():
        future.result(SECONDS)
    with joined(config) as (process, _):
        # Of more than one, so that the log was trimmed.
        wait_until(lambda: _start(copy) > 0)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
    latest = MetadataSnapshot.latest(copy)
    assert latest is not None
    assert len(load_image(copy).image.topics.by_name) == TOPICS
    files = [latest.path, *sorted(copy.glob("*.log"))]
    printed = [
        cluster.run_tool("org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", each)
        for each in files
    ]
    assert printed[0].count('"type":"TOPIC_RECORD"') == TOPICS
    assert not any("Could not" in each or "isvalid: false" in each for each in printed)
    java = ["java", "-Xmx512m", *kafka_options(release), "-cp", classpath(release), "kafka.Kafka", config]
    with (tmp_path / "kafka.out").open("wb") as out, subprocess.Popen(java, stdout=out, stderr=out) as theirs:
        try:
            wait_until(lambda: 9 in admin.list_topics(timeout=SECONDS).brokers)
            assert theirs.poll() is None
        finally:
            theirs.send_signal(signal.SIGTERM)
            theirs.wait(SECONDS)
    assert b"Recovering unflushed segment" not in (tmp_path / "kafka.out").read_bytes()


def _start(copy: Path) -> int:
    """Where the copy's log begins, by the name of its first segment."""
    return min((int(path.stem) for path in copy.glob("*.log")), default=0)
