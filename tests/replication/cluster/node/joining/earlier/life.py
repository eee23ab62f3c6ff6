"""What a broker goes through in a cluster: it leads and follows, is moved, dies, leaves in order and comes back."""

from typing import ClassVar

from replication.records.metadata.metadata_version import METADATA_VERSION_FEATURE, MetadataVersion
from replication.wire.client.connection import Connection
from replication.wire.messages.api_versions import ApiVersionsRequest
from tests.oracle.kafka import JavaProgram
from tests.replication.cluster.node.joining.chaos.round import ChaosRound
from tests.replication.cluster.node.joining.chaos.schedule import Schedule
from tests.replication.cluster.node.joining.mixed_cluster import OURS, MixedCluster
from tests.replication.waiting import wait_until

THEIRS = 1
_BOTH = {THEIRS, OURS}


class Life(ChaosRound):
    """While producers write, in transactions too, and consumers read; one broker is Kafka's and one is ours."""

    MIN_IN_SYNC: ClassVar[int] = 1
    """librdkafka's transactional producers may fail for good where they were told NOT_ENOUGH_REPLICAS."""

    def __init__(self, cluster: MixedCluster, java: JavaProgram, seed: int) -> None:
        """`seed` says which producer writes in transactions."""
        replicas = ((OURS, THEIRS), (THEIRS, OURS), (OURS, THEIRS), (THEIRS, OURS))
        super().__init__(cluster, java, Schedule(replicas, ()), seed)

    def _happen(self) -> None:
        self._lead()
        self._move()
        self._die()
        self._leave()
        self._rise()

    def _lead(self) -> None:
        for each in (self.partitions[0], self.partitions[2]):
            self.administrator.lead(each, (OURS, THEIRS))

    def _move(self) -> None:
        moved = self.partitions[1]
        self.administrator.reassign(moved, [THEIRS])
        self.administrator.wait_for(moved, replicas={THEIRS}, isr={THEIRS}, removing=set())
        self.administrator.reassign(moved, [OURS, THEIRS])
        self.administrator.lead(moved, (OURS, THEIRS))

    def _die(self) -> None:
        self.cluster.kill(OURS)
        self._wait_for({THEIRS})
        self.cluster.start(OURS)
        self._wait_for(_BOTH)
        self._lead()

    def _leave(self) -> None:
        self.cluster.stop(OURS)
        self._wait_for({THEIRS})
        self.cluster.start(OURS)
        self._wait_for(_BOTH)
        self._lead()

    def _rise(self) -> None:
        """Raise the cluster to the latest level of its release, from which on directories are known."""
        latest = MetadataVersion(self.cluster.release.metadata_version)
        if level_of(self.cluster, OURS) is latest:
            return
        to = ("--bootstrap-server", self.cluster.bootstrap(OURS))
        self.cluster.run_tool("org.apache.kafka.tools.FeatureCommand", *to, "upgrade", "--metadata", latest.told)
        wait_until(lambda: level_of(self.cluster, OURS) is latest, "ours works at the new level")
        wait_until(self._has_directories, "it is known in which directory each replica of ours lies")
        self._wait_for(_BOTH)

    def _has_directories(self) -> bool:
        image = self.cluster.image()
        (directory,) = image.brokers[OURS].directories or (None,)
        topic = image.topics.by_name[self.topic]
        return {each.directory_of(OURS) for each in topic.partitions.values()} == {directory}

    def _wait_for(self, isr: set[int]) -> None:
        for each in self.partitions:
            self.administrator.wait_for(each, isr=isr)


def level_of(cluster: MixedCluster, node: int) -> MetadataVersion:
    """Return the level of metadata.version at which a cluster works, as a node tells."""
    asked = ApiVersionsRequest(client_software_name="epochlog", client_software_version="tests")
    with Connection.open(cluster.bootstrap(node)) as connection:
        levels = connection.ask(asked).finalized_features[METADATA_VERSION_FEATURE]
    return MetadataVersion(levels.stop - 1)
