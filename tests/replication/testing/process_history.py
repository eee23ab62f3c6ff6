"""A random history of brokers that are processes, in which each truncation was foretold."""

from contextlib import suppress
from random import Random
from time import sleep
from typing import ClassVar, Final

from replication.testing import Cluster
from replication.testing.errors import NotReachedError
from tests.replication.testing.cluster_history import BROKERS, PARTITIONS, History
from tests.replication.testing.foretold_truncations import ForetoldTruncations

_LONGEST_PAUSE: Final = 1.5
_PATIENCE: Final = 3.0


class ProcessHistory(History):
    """Kills are SIGKILL's; processes stand still as well, and `plan` says before each start what will be cut off."""

    STEPS: ClassVar = (*History.STEPS, "pause", "sever", "sever")

    def __init__(self, cluster: Cluster, random: Random) -> None:
        super().__init__(cluster, random)
        self.truncations: Final = ForetoldTruncations(cluster)

    def begin(self, broker: int) -> None:
        """Start a broker; what it will cut off is known only if there are leaders, for which it is worth a wait."""
        if any(self.cluster.is_up(other) for other in BROKERS):
            with suppress(NotReachedError):
                self.cluster.wait_until(self._all_lead, "all is led", seconds=_PATIENCE)
        self.truncations.foretell(broker, PARTITIONS)
        super().begin(broker)

    def happen(self, count: int) -> None:
        for _ in range(count):
            super().happen(1)
            self.truncations.look()

    def settle(self) -> None:
        super().settle()
        self.truncations.look()
        for foretold in self.truncations.plans:
            foretold.check()

    def _all_lead(self) -> bool:
        return all(self.cluster.leads(*partition) for partition in PARTITIONS)

    def _sever(self) -> str:
        """Kill a leader a moment after it was cut off from all followers: it has records then that nobody else has."""
        broker = self.cluster.leader(*self._random.choice(PARTITIONS))
        if broker not in self._up():
            return ""
        for other in BROKERS:
            if other != broker:
                self.cluster.links.cut(broker, other)
        sleep(self._random.uniform(0.1, 0.5))
        self.cluster.kill(broker)
        self._down.add(broker)
        self.cluster.links.heal([broker])
        return f"kill {broker}, which was cut off"

    def _pause(self) -> str:
        broker = self._random.choice(BROKERS)
        if broker in self._down:
            return ""
        seconds = self._random.uniform(0.1, _LONGEST_PAUSE)
        self.cluster.links.pause(broker)
        sleep(seconds)
        self.cluster.links.resume(broker)
        return f"pause {broker} for {seconds:.1f} s"
