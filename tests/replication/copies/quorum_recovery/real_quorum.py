"""Three real controllers and perhaps a broker, whose logs fork as controllers are killed, paused and started again.

with RealQuorum(directory, release, is_dynamic=True) as quorum:
    quorum.pause(2)
    quorum.kill(1)
    quorum.resume(2)
"""

import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from logstore.files.partition_metadata import format_uuid
from tests.oracle.cluster import BROKER_SETTINGS, KafkaCluster
from tests.oracle.release import KafkaRelease

VOTERS = (1, 2, 3)
BROKER = 10
METADATA = "__cluster_metadata-0"
QUICK_ELECTIONS: Mapping[str, object] = {
    "controller.quorum.election.timeout.ms": 500,
    "controller.quorum.election.backoff.max.ms": 300,
    "controller.quorum.fetch.timeout.ms": 1_500,
    "controller.quorum.request.timeout.ms": 1_000,
}
SECONDS_OF_A_FETCH = 0.8
"""For half a second a leader waits for something to answer (Kafka: MAX_FETCH_WAIT_MS), for 2.25 to be asked again."""
AUTHORIZER: Mapping[str, object] = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
SHORT_SESSION: Mapping[str, object] = {"broker.session.timeout.ms": 6_000}
"""For as long a broker that starts again is refused."""


class RealQuorum(KafkaCluster):
    """Nodes 1 to 3 are controllers, 10 is a broker; `directory/controller-1` to `directory/broker-10` are theirs."""

    def __init__(
        self,
        directory: Path,
        release: KafkaRelease,
        *,
        is_dynamic: bool = False,
        has_broker: bool = True,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """`is_dynamic` has the voters in the log (KIP-853); `settings` are the controllers'."""
        self.is_dynamic = is_dynamic
        self.has_broker = has_broker
        self.directory_ids = {node: format_uuid(uuid4()) for node in VOTERS}
        self._paused: set[int] = set()
        super().__init__(directory, release, controller_settings=settings or {})

    @property
    def ids(self) -> range:
        return range(BROKER, BROKER + self.has_broker)

    @property
    def nodes(self) -> Sequence[int]:
        return (*VOTERS, *self.ids)

    def log_dir(self, node: int) -> Path:
        return self.directory / (f"broker-{node}" if node == BROKER else f"controller-{node}")

    def metadata(self, node: int) -> Path:
        """Return the directory of a node's copy of the metadata partition."""
        return self.log_dir(node) / METADATA

    def at_work(self) -> dict[int, str]:
        """Return the addresses of the controllers that were started, not killed since, and are not paused."""
        return {node: self.address(node) for node in VOTERS if node in self._processes and node not in self._paused}

    def is_running(self, node: int) -> bool:
        """Whether a node was started and not killed since; it may be paused."""
        return node in self._processes

    def pause(self, node: int) -> None:
        """Have a node do nothing, as if it were cut off."""
        self._processes[node].send_signal(signal.SIGSTOP)
        self._paused.add(node)

    def cut_off(self, leader: int) -> Sequence[int]:
        """Pause all other controllers, and wait until the leader has answered what they had asked; return them.

        An answer that is on its way reaches them once they go on, with what the leader appended meanwhile.
        """
        others = [node for node in VOTERS if node != leader]
        for node in others:
            self.pause(node)
        time.sleep(SECONDS_OF_A_FETCH)
        return others

    def resume(self, node: int) -> None:
        """Let a node go on."""
        self._processes[node].send_signal(signal.SIGCONT)
        self._paused.discard(node)

    def kill(self, node: int) -> None:
        super().kill(node)
        self._paused.discard(node)

    def start_all(self, nodes: Sequence[int]) -> None:
        """Start those of the nodes that do not run."""
        dead = [node for node in nodes if not self.is_running(node)]
        for node in dead:
            self.start(node, wait=False)
        for node in dead:
            self.wait_for(node)

    def start_over(self) -> None:
        """Have all directories as the tool leaves them that formats them; while nothing runs."""
        kept = self.directory / "formatted"
        if not kept.exists():
            for node in self.nodes:
                self._format(node)
                shutil.copytree(self.log_dir(node), kept / self.log_dir(node).name)
        for node in self.nodes:
            shutil.rmtree(self.log_dir(node))
            shutil.copytree(kept / self.log_dir(node).name, self.log_dir(node))

    def restore(self, source: Path, nodes: Sequence[int]) -> None:
        """Put a copy of a metadata directory in the place of these nodes' own; while they do not run."""
        for node in nodes:
            shutil.rmtree(self.metadata(node))
            shutil.copytree(source, self.metadata(node))

    def address(self, node: int) -> str:
        """Return where a node listens."""
        return f"127.0.0.1:{self.ports[node]}"

    def _format_options(self, node: int) -> Sequence[str]:
        if not self.is_dynamic:
            return ()
        if node == BROKER:
            return ("--no-initial-controllers",)
        controllers = (f"{each}@{self.address(each)}:{self.directory_ids[each]}" for each in VOTERS)
        return ("--initial-controllers", ",".join(controllers))

    def _configuration(self, node: int) -> Path:
        settings: dict[str, object] = {
            "node.id": node,
            "log.dirs": self.log_dir(node),
            "controller.listener.names": "CONTROLLER",
            **QUICK_ELECTIONS,
            **AUTHORIZER,
        }
        if self.is_dynamic:
            settings["controller.quorum.bootstrap.servers"] = ",".join(map(self.address, VOTERS))
        else:
            settings["controller.quorum.voters"] = ",".join(f"{each}@{self.address(each)}" for each in VOTERS)
        if node == BROKER:
            listener = f"PLAINTEXT://{self.address(node)}"
            settings |= {**BROKER_SETTINGS, "listeners": listener, "advertised.listeners": listener}
            settings |= {"offsets.topic.replication.factor": 1, "transaction.state.log.replication.factor": 1}
        else:
            settings |= {"process.roles": "controller", "listeners": f"CONTROLLER://{self.address(node)}"}
            settings |= {**SHORT_SESSION, **self.controller_settings}
        path = self.directory / f"{node}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return path
