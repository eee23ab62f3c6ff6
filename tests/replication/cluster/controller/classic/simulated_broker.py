"""A broker of a simulated ZooKeeper-era cluster, and the session that it may lose."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.commands.commands import PartitionCommand
from replication.cluster.controller.classic.controller import ClassicController
from replication.cluster.controller.classic.errors import SessionLostError
from replication.cluster.controller.classic.store.coordination_store import CoordinationStore, Node, Operation, Watch


class CrashingStore:
    """A session that is lost at a write of its own, when `writes_left` comes to 0."""

    def __init__(self, session: CoordinationStore, look: Callable[[Operation], None]) -> None:
        """Let somebody look at each write before it is done."""
        self._session = session
        self._look = look
        self.writes_left: int | None = None

    def multi(self, operations: Sequence[Operation]) -> None:
        if self.writes_left is not None:
            if self.writes_left == 0:
                self._session.close()
                raise SessionLostError("simulated")
            self.writes_left -= 1
        for operation in operations:
            self._look(operation)
        self._session.multi(operations)

    def exists(self, path: str, watch: Watch | None = None) -> bool:
        return self._session.exists(path, watch)

    def get(self, path: str, watch: Watch | None = None) -> Node:
        return self._session.get(path, watch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


@dataclass
class ClassicBroker:
    """A broker as it sees itself; while it runs it has a session, and may be the controller."""

    broker_id: int
    session: CrashingStore | None = None
    controller: ClassicController | None = None
    controller_epoch: int = 0
    held: dict[TopicPartition, PartitionCommand] = field(default_factory=dict)
    shutting_down: bool = False
    stalled: bool = False
    """It answers nothing for now."""

    def is_news(self, partition: TopicPartition, told: PartitionCommand) -> bool:
        held = self.held.get(partition)
        return held is None or told.state.leader_epoch > held.state.leader_epoch
