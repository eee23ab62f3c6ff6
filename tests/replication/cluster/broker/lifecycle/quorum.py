"""A quorum of several real controllers, of which another leads when one ends."""

from collections.abc import Mapping
from pathlib import Path

from tests.oracle.cluster import CONTROLLER, KafkaCluster
from tests.oracle.release import KafkaRelease


class Quorum(KafkaCluster):
    """Three controllers and no broker: in place of its brokers a `KafkaCluster` starts two more controllers."""

    def __init__(self, directory: Path, release: KafkaRelease, settings: Mapping[str, object]) -> None:
        super().__init__(directory, release, controller_settings=settings)

    @property
    def ids(self) -> range:
        return range(CONTROLLER + 1, CONTROLLER + 3)

    @property
    def addresses(self) -> dict[int, str]:
        """Where each listens."""
        return {node: f"127.0.0.1:{port}" for node, port in self.ports.items()}

    def _quorum_settings(self) -> Mapping[str, object]:
        voters = ",".join(f"{node}@{address}" for node, address in self.addresses.items())
        return {"controller.quorum.voters": voters}
