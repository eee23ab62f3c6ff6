"""A real Kafka cluster on loopback: one controller and some brokers, from Maven's artifacts, on ports that are free.

with KafkaCluster(directory, release, brokers=3) as cluster:
    cluster.kill(2)
    cluster.start(2)

Only processes that were started here are ended, by their handles.
"""

import json
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from replication.base.metadata_partition import METADATA_PARTITION
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.loading import load_image
from tests.oracle.broker import free_port, java
from tests.oracle.kafka import classpath, kafka_options
from tests.oracle.release import KafkaRelease

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
CONTROLLER = 100
SECONDS_TO_START = 600
SECONDS_TO_STOP = 180

BROKER_SETTINGS: Mapping[str, object] = {
    "process.roles": "broker",
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.num.partitions": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    "broker.session.timeout.ms": 3_000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 3_000,
    "log.index.size.max.bytes": 65_536,
    "log.cleaner.backoff.ms": 1_000,
    "log.segment.delete.delay.ms": 1_000,
    "replica.high.watermark.checkpoint.interval.ms": 1_000,
    "log.flush.offset.checkpoint.interval.ms": 1_000,
    "log.flush.start.offset.checkpoint.interval.ms": 1_000,
    "auto.leader.rebalance.enable": "false",
    "log.message.timestamp.before.max.ms": 2**63 - 1,
}


@dataclass
class KafkaCluster:
    """Its nodes' log directories are `directory/broker-N`; the controller's is `directory/controller`."""

    directory: Path
    release: KafkaRelease
    brokers: int = 1
    settings: Mapping[str, object] = field(default_factory=dict)
    """Broker settings beyond BROKER_SETTINGS."""
    controller_settings: Mapping[str, object] = field(default_factory=dict)
    """The controller's, such as the session timeout, which is its to decide."""
    java_options: Sequence[str] | None = None
    """Of all nodes, in place of those with which they start soon: none for a broker that is to reach its full speed."""

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.ports = {node: free_port() for node in self.nodes}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def ids(self) -> Sequence[int]:
        """The brokers' ids."""
        return range(1, self.brokers + 1)

    @property
    def nodes(self) -> Sequence[int]:
        """The ids of all nodes, in the order in which they start."""
        return (CONTROLLER, *self.ids)

    def bootstrap(self, *ids: int) -> str:
        """Return addresses for clients: of these brokers, or of all."""
        return ",".join(f"127.0.0.1:{self.ports[node]}" for node in ids or self.ids)

    def log_dir(self, node: int) -> Path:
        """Return a node's log directory."""
        if node == CONTROLLER:
            return self.directory / "controller"
        return self.directory / f"{'broker' if node < CONTROLLER else 'controller'}-{node}"

    def __enter__(self) -> Self:
        try:
            for node in self.nodes:
                self._format(node)
            for node in self.nodes:
                self.start(node, wait=False)
            for node in self.nodes:
                self.wait_for(node)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End whatever still runs."""
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
            process.wait(SECONDS_TO_STOP)
        self._processes.clear()

    def start(self, node: int, *, wait: bool = True) -> None:
        """Start a node, and wait until it listens."""
        with open(self.directory / f"{node}.out", "ab") as output:
            self._processes[node] = subprocess.Popen(self._command(node), stdout=output, stderr=subprocess.STDOUT)
        if wait:
            self.wait_for(node)

    def pid(self, node: int) -> int:
        """Return the id of a node's process."""
        return self._processes[node].pid

    def stop(self, node: int) -> None:
        """Shut a node down in order."""
        self._processes[node].send_signal(signal.SIGTERM)
        self._processes.pop(node).wait(SECONDS_TO_STOP)

    def kill(self, node: int) -> None:
        """End a node as a crash would."""
        self._processes[node].kill()
        self._processes.pop(node).wait(SECONDS_TO_STOP)

    def is_running(self, node: int) -> bool:
        """Whether a node was started, and has not ended since."""
        return node in self._processes and self._processes[node].poll() is None

    def pause(self, node: int) -> None:
        """Let a node stand still, its connections open."""
        self._processes[node].send_signal(signal.SIGSTOP)

    def resume(self, node: int) -> None:
        """Let it go on."""
        self._processes[node].send_signal(signal.SIGCONT)

    def wait_for(self, node: int) -> None:
        """Wait until a node accepts connections."""
        deadline = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < deadline and self._processes[node].poll() is None:
            with socket.socket() as probe:
                probe.settimeout(1)
                if probe.connect_ex(("127.0.0.1", self.ports[node])) == 0:
                    return
            time.sleep(0.2)
        tail = (self.directory / f"{node}.out").read_text(errors="replace")[-2_000:]
        raise TimeoutError(f"node {node} does not listen on port {self.ports[node]}; it said last:\n{tail}")

    def copy_logs(self, target: Path) -> None:
        """Copy the brokers' log directories, without the metadata that every node keeps."""
        for node in self.ids:
            ignored = shutil.ignore_patterns("__cluster_metadata-0", "bootstrap.checkpoint")
            shutil.copytree(self.log_dir(node), target / f"broker-{node}", ignore=ignored)

    def image(self) -> ClusterImage:
        """Return what the controller has in its log by now."""
        with TemporaryDirectory() as directory:
            copy = Path(directory) / str(METADATA_PARTITION)
            shutil.copytree(self.log_dir(CONTROLLER) / copy.name, copy)
            return load_image(copy).image

    def run_tool(self, name: str, *arguments: object, text: str = "") -> str:
        """Run one of Kafka's own tools, give it `text` to read, and return what it printed."""
        done = subprocess.run(
            [*java(self.release), name, *map(str, arguments)],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS_TO_START,
        )
        if done.returncode:
            raise RuntimeError(f"{name} {arguments} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def reassign(self, topic: str, partition: int, replicas: Sequence[int], through: int | None = None) -> None:
        """Begin to move a partition to these brokers, asking one of the cluster's, or the first of these."""
        move = {"topic": topic, "partition": partition, "replicas": list(replicas)}
        plan = self.directory / "plan.json"
        plan.write_text(json.dumps({"version": 1, "partitions": [move]}))
        tool = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
        asked = self.bootstrap(replicas[0] if through is None else through)
        self.run_tool(tool, "--bootstrap-server", asked, "--reassignment-json-file", plan, "--execute")

    def _format(self, node: int) -> None:
        if not self.log_dir(node).exists() or not (self.log_dir(node) / "meta.properties").exists():
            formatting = ("format", "-t", CLUSTER_ID, "-c", self._configuration(node), *self._format_options(node))
            self.run_tool("kafka.tools.StorageTool", *formatting)

    def _format_options(self, node: int) -> Sequence[str]:
        """Return what formatting a node's directory takes besides; none where all know the voters."""
        del node
        return ()

    def _quorum_settings(self) -> Mapping[str, object]:
        return {"controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{self.ports[CONTROLLER]}"}

    def _configuration(self, node: int) -> Path:
        address = f"127.0.0.1:{self.ports[node]}"
        settings: dict[str, object] = {
            "node.id": node,
            "log.dirs": self.log_dir(node),
            "controller.listener.names": "CONTROLLER",
            **self._quorum_settings(),
        }
        if node >= CONTROLLER:
            settings |= {"process.roles": "controller", "listeners": f"CONTROLLER://{address}"}
            settings |= self.controller_settings
        else:
            address = f"PLAINTEXT://{address}"
            replicas = {"offsets.topic.replication.factor": self.brokers}
            replicas |= {"transaction.state.log.replication.factor": self.brokers}
            replicas |= {"share.coordinator.state.topic.replication.factor": self.brokers}
            settings |= {**BROKER_SETTINGS, **replicas, "listeners": address, "advertised.listeners": address}
            settings |= self.settings
        path = self.directory / f"{node}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return path

    def _command(self, node: int) -> list[str]:
        return [*self._java(), "kafka.Kafka", str(self._configuration(node))]

    def _java(self) -> list[str]:
        options = kafka_options(self.release) if self.java_options is None else self.java_options
        return ["java", "-Xms128m", "-XX:+UseSerialGC", "-Xmx512m", *options, "-cp", classpath(self.release)]
