"""A random history of a cluster: brokers die, lose what they have not flushed, are cut off, and come back."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import ClassVar, Final, TypeVar

from logstore import TopicPartition
from replication.base.errors import ReplicationError
from replication.testing import CONTROLLER, Cluster
from replication.wire.client.connection import Connection
from replication.wire.messages.list_offsets import LATEST, ListOffsetsRequest, OffsetQuestion
from replication.wire.messages.replica_id import CONSUMER, DEBUGGER
from tests.replication.testing.history_writer import Writer
from tests.replication.testing.stopped_replicas import check_stopped

BROKERS: Final = (1, 2, 3)
PARTITIONS: Final = (TopicPartition("history", 0), TopicPartition("history", 1))
HistoryT = TypeVar("HistoryT", bound="History")
_SECONDS: Final = 60.0


class History:
    """What happens to a cluster by a seed; `steps` says what did."""

    STEPS: ClassVar[Sequence[str]] = ("stop", "kill", "lose", "start", "start", "cut", "heal")

    def __init__(self, cluster: Cluster, random: Random) -> None:
        self.cluster = cluster
        self._random = random
        self.steps: list[str] = []
        self._down: set[int] = set()

    def happen(self, count: int) -> None:
        """Let so many things happen, each after a moment."""
        for _ in range(count):
            step: Callable[[], str] = getattr(self, f"_{self._random.choice(self.STEPS)}")
            described = step()
            if described:
                self.steps.append(described)
            time.sleep(self._random.uniform(0.02, 0.4))

    def settle(self) -> None:
        """Let all brokers run and reach each other, and wait until all replicas are in sync."""
        self.cluster.links.heal()
        for broker in sorted(self._down):
            self.begin(broker)
        self._down.clear()
        self._await_in_sync()

    def begin(self, broker: int) -> None:
        """Start a broker."""
        self.cluster.start(broker)

    def _up(self) -> list[int]:
        return [broker for broker in BROKERS if broker not in self._down]

    def _stop(self) -> str:
        if len(self._up()) < 2:
            return ""
        broker = self._random.choice(self._up())
        self.cluster.stop(broker)
        self._down.add(broker)
        return f"stop {broker}"

    def _kill(self) -> str:
        if not self._up():
            return ""
        broker = self._random.choice(self._up())
        self.cluster.kill(broker)
        self._down.add(broker)
        return f"kill {broker}"

    def _lose(self) -> str:
        """Kill a broker and take what it has not flushed, where two others have all of it.

        Two that lose their pages at once may both have been the only ones that had a record.
        """
        isrs = [self.cluster.partition(*partition).isr for partition in PARTITIONS]
        if self._down or any(len(isr) < len(BROKERS) for isr in isrs):
            return ""
        broker = self._random.choice(BROKERS)
        lost = self.cluster.kill(broker, lose_unflushed=True)
        self.cluster.links.mend(broker, CONTROLLER)
        self.begin(broker)
        self.cluster.links.heal()
        self._await_in_sync()
        return f"kill {broker}, {lost} bytes lost, and start it"

    def _await_in_sync(self) -> None:
        for partition in PARTITIONS:
            self.cluster.wait_for_leader(*partition, seconds=_SECONDS)
            self.cluster.wait_for_isr(*partition, size=len(BROKERS), seconds=_SECONDS)

    def _start(self) -> str:
        if not self._down:
            return ""
        broker = self._random.choice(sorted(self._down))
        self.cluster.links.mend(broker, CONTROLLER)  # nobody starts without
        self.begin(broker)
        self._down.discard(broker)
        return f"start {broker}"

    def _cut(self) -> str:
        one, other = self._random.sample([*BROKERS, CONTROLLER], 2)
        self.cluster.links.cut(one, other)
        return f"cut {one} from {other}"

    def _heal(self) -> str:
        self.cluster.links.heal()
        return "heal"


def run_history(
    directory: Path,
    seed: int,
    steps: int,
    *,
    repeat_by: str,
    processes: bool = False,
    history_of: Callable[[Cluster, Random], HistoryT],
) -> tuple[int, HistoryT]:
    """Run a history and check it; return how many records were acknowledged, and what happened.

    What fails tells the history, and the command to repeat it by.
    """
    random = Random(seed)
    history: HistoryT | None = None
    try:
        with Cluster(
            3, directory=directory, processes=processes, session_timeout_ms=900, replica_lag_time_max_ms=600
        ) as cluster:
            cluster.create_topic(
                PARTITIONS[0].topic,
                partitions=len(PARTITIONS),
                replication_factor=3,
                configs={"min.insync.replicas": "2"},
            )
            history = history_of(cluster, random)
            writers = [Writer(cluster, partition, Random(random.random())) for partition in PARTITIONS]
            for writer in writers:
                writer.start()
            try:
                history.happen(steps)
                history.settle()
            finally:
                for writer in writers:
                    writer.stop()
            for partition in PARTITIONS:
                _await_replicated(cluster, partition)
            for broker in BROKERS:
                cluster.stop(broker)
        for writer in writers:
            assert writer.error is None, repr(writer.error)
        roots = [directory / f"broker-{broker}" for broker in BROKERS]
        check_stopped(roots, {writer.partition: writer.acknowledged for writer in writers})
    except BaseException as error:
        happened = "; ".join(history.steps) if history else "nothing"
        error.add_note(f"repeat it by: {repeat_by.format(seed=seed)}\nwhat happened: {happened}")
        raise
    return sum(writer.acknowledged for writer in writers), history


def _await_replicated(cluster: Cluster, partition: TopicPartition) -> None:
    """Return once all replicas end at the same offset, and the leader knows that it is committed.

    A follower that had to cut its log hears of that only with the next record, as Kafka's.
    """

    def are_replicated() -> bool:
        try:
            ends = {_end(cluster, broker, partition) for broker in BROKERS}
            committed = _end(cluster, cluster.leader(*partition), partition, replica_id=CONSUMER)
        except (OSError, ReplicationError):
            return False
        return ends == {committed}

    cluster.wait_until(are_replicated, f"all of {partition} is committed on all brokers", seconds=_SECONDS)


def _end(cluster: Cluster, broker: int, partition: TopicPartition, replica_id: int = DEBUGGER) -> int:
    """Return where a replica's log ends, for consumers the leader's high watermark."""
    latest = ListOffsetsRequest(partitions={partition: OffsetQuestion(LATEST)}, replica_id=replica_id)
    with Connection.open(cluster.address(broker)) as connection:
        return connection.ask(latest).partitions[partition].offset
