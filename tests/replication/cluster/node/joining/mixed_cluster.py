"""A cluster of Kafka's own brokers and of ours, all of them processes, whose controller is Kafka's."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from logstore import TopicPartition
from replication.records.metadata.metadata_version import MetadataVersion
from replication.testing.forgetful_disk import ForgetfulDisk
from tests.oracle.cluster import CLUSTER_ID, CONTROLLER, KafkaCluster
from tests.oracle.kafka import kafka_options
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.testing.stopped_replicas import check_agreement, loaded
from tests.replication.waiting import SECONDS, wait_until

OURS: Final = 9
_GAVE_UP_MARKERS: Final = "Couldn't find leader endpoint for partitions"
_TRUNCATIONS_ARE_LOGGED: Final = (
    f"-Dlog4j2.configurationFile={Path('tests/oracle/log4j2-truncations.properties').resolve()}"
)


@dataclass
class MixedCluster(KafkaCluster):
    """Kafka's brokers are 1, 2 ...; what each node says is in `directory/N.out`."""

    ours: Sequence[int] = (OURS,)
    """The ids of our brokers."""
    is_forgetful: bool = False
    """Whether ours write so that what they have not flushed can be lost, which is not as they write otherwise."""
    level: MetadataVersion | None = None
    """The level of metadata.version that the cluster begins with; None for the latest of the release."""
    features: Mapping[str, int] = field(default_factory=dict)
    """At which levels the cluster begins to work, where that is not as the controller has it by itself."""

    @classmethod
    def of(
        cls,
        directory: Path,
        release: KafkaRelease,
        *,
        kafkas: int,
        session_ms: int,
        lag_ms: int,
        ours: Sequence[int] = (OURS,),
    ) -> Self:
        """Describe a cluster that fits a small machine, and whose brokers log what they cut off."""
        return cls(
            directory,
            release,
            brokers=kafkas,
            settings={
                "replica.lag.time.max.ms": lag_ms,
                "broker.session.timeout.ms": session_ms,
                "broker.heartbeat.interval.ms": 300,
                "initial.broker.registration.timeout.ms": SECONDS * 1_000,
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                "num.network.threads": 1,
                "num.io.threads": 2,
                "log.retention.ms": -1,
            },
            controller_settings={"broker.session.timeout.ms": session_ms},
            java_options=[*kafka_options(release), "-Xmx256m", "-Xms64m", _TRUNCATIONS_ARE_LOGGED],
            ours=ours,
        )

    @property
    def ids(self) -> Sequence[int]:
        """The brokers' ids, ours last."""
        return (*super().ids, *self.ours)

    def said(self, node: int) -> str:
        """Return all that a node has said so far."""
        path = self.directory / f"{node}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def markers_given_up(self, partition: TopicPartition) -> int:
        """Return how many transactions coordinators of Kafka's have ended without a marker in a partition.

        They take a partition that has no leader for one that was deleted (KAFKA-20734).
        """
        told = (line for node in super().ids for line in self.said(node).splitlines())
        return sum(_GAVE_UP_MARKERS in line and str(partition) in line for line in told)

    def lose(self, node: int) -> None:
        """End one of ours as a loss of power would."""
        self.kill(node)
        disk = ForgetfulDisk(self._journal(node))
        try:
            disk.lose()
        finally:
            disk.close_journal()

    def ensure_equal(self, partition: TopicPartition, nodes: Sequence[int]) -> None:
        """Wait until replicas that nobody writes to end at one offset, and compare them. Raises AssertionError."""
        roots = [self.log_dir(node) for node in nodes]

        def ends() -> set[int]:
            return {loaded(root, partition).log_end_offset for root in roots}

        wait_until(lambda: len(ends()) == 1, f"the replicas of {partition} end at one offset")
        check_agreement(partition, [loaded(root, partition) for root in roots], *ends())

    def _command(self, node: int) -> list[str]:
        if node in self.ours:
            module = "tests.replication.cluster.node.joining.logged_broker"
            journal = [str(self._journal(node))] if self.is_forgetful else []
            return [sys.executable, "-m", module, str(self._configuration(node)), *journal]
        return super()._command(node)

    def _journal(self, node: int) -> Path:
        return self.directory / f"{node}.flushed"

    def _format_options(self, node: int) -> Sequence[str]:
        release = () if self.level is None else ("--release-version", self.level.told)
        features = self.features if node == CONTROLLER else {}
        return [*release, *(each for name, level in features.items() for each in ("--feature", f"{name}={level}"))]

    def _format(self, node: int) -> None:
        if node not in self.ours:
            super()._format(node)
        elif not self.log_dir(node).exists():
            done = epochlog("format", "--config", self._configuration(node), "--cluster-id", CLUSTER_ID)
            assert done.status == 0, done.err
