"""Who asks one of ours, as long as it is told to, for what only the leader of an epoch that is over would give."""

from dataclasses import dataclass, field
from typing import Final

from logstore import TopicPartition
from replication.base.errors import ReplicationError
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.messages.offset_for_leader_epoch import EpochQuestion, OffsetForLeaderEpochRequest
from tests.replication.cluster.node.joining.chaos.thread import ChaosThread

_SETTINGS: Final = ClientSettings(connect_timeout_ms=500, request_timeout_ms=500)
_PAUSE_SECONDS: Final = 0.01


@dataclass
class OldEpoch(ChaosThread):
    """Asks a broker for the end of an epoch, as who believes that it leads in that."""

    address: str
    partition: TopicPartition
    epoch: int
    answers: set[ErrorCode] = field(default_factory=set)
    """NONE: it has answered as the leader of that epoch."""

    def _run(self) -> None:
        question = OffsetForLeaderEpochRequest(partitions={self.partition: EpochQuestion(self.epoch, self.epoch)})
        while not self._stopped.wait(_PAUSE_SECONDS):
            try:
                with Connection.open(self.address, _SETTINGS) as connection:
                    while not self._stopped.wait(_PAUSE_SECONDS):
                        self.answers.add(connection.ask(question).partitions[self.partition].error)
            except (OSError, ReplicationError):
                continue  # it is down, or does not answer yet
