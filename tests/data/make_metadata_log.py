"""Make the metadata logs that ship: what a controller wrote while topics came, changed and went and brokers failed.

Since Kafka 4.4 another controller comes and goes too.

python -m tests.data.make_metadata_log VERSION OUT

writes OUT/__cluster_metadata-0, the controller's own, with the latest snapshot that a broker made beside its log, and
OUT/truth.json: what Kafka's tools say of the cluster at the end. Needs Java and Maven; takes about a minute.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.oracle.broker import free_port
from tests.oracle.cluster import CONTROLLER, KafkaCluster
from tests.oracle.release import KafkaRelease, release_of

OBSERVER = CONTROLLER + 1
"""A second controller, which has no vote."""
SETTINGS = {"metadata.log.max.record.bytes.between.snapshots": 1000}
PATIENCE = 120


class DynamicQuorum(KafkaCluster):
    """Its controllers may come and go (KIP-853): `start(OBSERVER)` brings another one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ports[OBSERVER] = free_port()

    def start(self, node: int, *, wait: bool = True) -> None:
        """Start a node, and wait until it listens."""
        self._format(node)
        super().start(node, wait=wait)

    def _quorum_settings(self) -> Mapping[str, object]:
        return {"controller.quorum.bootstrap.servers": f"127.0.0.1:{self.ports[CONTROLLER]}"}

    def _format_options(self, node: int) -> Sequence[str]:
        return ("--standalone",) if node == CONTROLLER else ("--no-initial-controllers",) if node == OBSERVER else ()


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come to be within {PATIENCE} s")
        time.sleep(0.3)


def leader(admin: AdminClient, topic: str, partition: int) -> int:
    """Ask who leads."""
    return int(admin.list_topics(topic, timeout=PATIENCE).topics[topic].partitions[partition].leader)


def isr(admin: AdminClient, topic: str, partition: int) -> set[int]:
    """Ask who is in sync."""
    return set(admin.list_topics(topic, timeout=PATIENCE).topics[topic].partitions[partition].isrs)


def create(admin: AdminClient) -> None:
    """Make topics, more partitions, settings and a user."""
    placed = {
        "orders": [[1, 2, 3], [2, 3, 1], [3, 1, 2]],
        "lonely": [[3], [1]],
        "moved": [[1, 2], [2, 1]],
        "deleted": [[1, 2]],
    }
    topics = [
        NewTopic(name, num_partitions=len(replicas), replica_assignment=replicas, config={"min.insync.replicas": "1"})
        for name, replicas in placed.items()
    ]
    for future in admin.create_topics(topics).values():
        future.result(PATIENCE)
    admin.create_partitions([NewPartitions("orders", 4, [[1, 3, 2]])])["orders"].result(PATIENCE)
    settings = ConfigResource(
        ResourceType.TOPIC,
        "orders",
        incremental_configs=[
            ConfigEntry("retention.ms", "86400000", incremental_operation=AlterConfigOpType.SET),
            ConfigEntry("cleanup.policy", "compact,delete", incremental_operation=AlterConfigOpType.SET),
        ],
    )
    admin.incremental_alter_configs([settings])[settings].result(PATIENCE)
    password = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    user = UserScramCredentialUpsertion("alice", password, b"secret", b"salt")
    for future in admin.alter_user_scram_credentials([user]).values():
        future.result(PATIENCE)


def disturb(cluster: KafkaCluster, admin: AdminClient, work: Path) -> None:
    """Kill brokers, elect leaders, move and delete partitions."""
    cluster.kill(1)
    wait_until(lambda: leader(admin, "orders", 0) != 1 and 1 not in isr(admin, "orders", 2), "a life without broker 1")
    cluster.start(1)
    wait_until(lambda: isr(admin, "orders", 0) == {1, 2, 3}, "broker 1's return")
    partitions = [TopicPartition("orders", number) for number in range(4)]
    admin.elect_leaders(ElectionType.PREFERRED, partitions).result(PATIENCE)
    plan = {"version": 1, "partitions": [{"topic": "moved", "partition": 0, "replicas": [3, 2]}]}
    (work / "plan.json").write_text(json.dumps(plan))
    reassign = ("--bootstrap-server", cluster.bootstrap(), "--reassignment-json-file", work / "plan.json", "--execute")
    cluster.run_tool("org.apache.kafka.tools.reassign.ReassignPartitionsCommand", *reassign)
    wait_until(lambda: isr(admin, "moved", 0) == {2, 3}, "the end of the reassignment")
    admin.delete_topics(["deleted"])["deleted"].result(PATIENCE)
    tool = "kafka.admin.ConfigCommand" if cluster.release.is_before_4_4 else "org.apache.kafka.tools.ConfigCommand"
    for kind, setting in (("users", "producer_byte_rate=1048576"), ("brokers", "log.cleaner.threads=2")):
        changed = ("--alter", "--add-config", setting, "--entity-type", kind, "--entity-default")
        cluster.run_tool(tool, "--bootstrap-server", cluster.bootstrap(), *changed)
    cluster.stop(2)
    wait_until(lambda: 2 not in isr(admin, "orders", 1), "broker 2's orderly leave")
    cluster.start(2)
    wait_until(lambda: isr(admin, "orders", 1) == {1, 2, 3}, "broker 2's return")
    cluster.kill(3)
    wait_until(lambda: isr(admin, "moved", 0) == {2} and leader(admin, "lonely", 0) == -1, "a life without broker 3")


def change_controllers(cluster: KafkaCluster) -> None:
    """Let another controller register, and unregister it once it is gone."""
    tool = "org.apache.kafka.tools.ClusterTool"
    asked = ("--bootstrap-controller", f"127.0.0.1:{cluster.ports[CONTROLLER]}")
    cluster.start(OBSERVER)
    wait_until(lambda: f"\n{OBSERVER} " in cluster.run_tool(tool, "list-endpoints", *asked), "another controller")
    cluster.stop(OBSERVER)
    cluster.run_tool(tool, "unregister-controller", "--bootstrap-server", cluster.bootstrap(2), "--id", OBSERVER)


def truth(cluster: KafkaCluster) -> dict[str, str]:
    """Ask Kafka's tools what there is."""
    bootstrap = ("--bootstrap-server", cluster.bootstrap(1, 2))
    tools = "org.apache.kafka.tools"
    return {
        "topics": cluster.run_tool(f"{tools}.TopicCommand", *bootstrap, "--describe"),
        "features": cluster.run_tool(f"{tools}.FeatureCommand", *bootstrap, "describe"),
        "brokers": cluster.run_tool(f"{tools}.ClusterTool", "list-endpoints", *bootstrap, "--include-fenced-brokers"),
        "quorum": cluster.run_tool(f"{tools}.MetadataQuorumCommand", *bootstrap, "describe", "--status"),
    }


def main(release: KafkaRelease, out: Path) -> None:
    """Run a cluster through all of it, and keep its metadata."""
    out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="epochlog-metadata-") as work,
        (KafkaCluster if release.is_before_4_4 else DynamicQuorum)(
            Path(work), release, brokers=3, settings=SETTINGS
        ) as cluster,
    ):
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
        create(admin)
        if not release.is_before_4_4:
            change_controllers(cluster)
        disturb(cluster, admin, Path(work))
        (out / "truth.json").write_text(json.dumps(truth(cluster), indent=1) + "\n")
        snapshot = max((cluster.log_dir(1) / "__cluster_metadata-0").glob("*.checkpoint"))
        cluster.kill(CONTROLLER)
        kept = out / "__cluster_metadata-0"
        unused = shutil.ignore_patterns("*index", "*.tmp")
        shutil.copytree(cluster.log_dir(CONTROLLER) / "__cluster_metadata-0", kept, ignore=unused)
        shutil.copy(snapshot, kept)
        if release.is_before_4_4:
            shutil.copy(cluster.log_dir(CONTROLLER) / "bootstrap.checkpoint", out)


if __name__ == "__main__":
    main(release_of(sys.argv[1]), Path(sys.argv[2]))
