"""The thread that asks the controller for what a broker's replicas want: the metadata never waits for its answers."""

from collections.abc import Callable
from typing import ClassVar, Final

from logstore.log.state.waiters import ThreadWaiter
from replication.broker.lifecycle.controller_channel import Channel
from replication.broker.lifecycle.errors import NoControllerError
from replication.broker.replicas.replica_manager import ReplicaManager
from replication.metadata.image_changes import PartitionId
from replication.node.controller_link import asked
from replication.node.isr_queue import IsrQueue
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, PlacedReplica
from replication.worker_thread import WorkerThread

_LONGEST_WAIT_SECONDS: Final = 0.5
"""Nobody wakes it for what was refused and may be granted now."""


class AskingThread(WorkerThread):
    """Asks for ISRs, and tells in which directories replicas lie."""

    PASSING: ClassVar[tuple[type[Exception], ...]] = (NoControllerError,)

    def __init__(
        self,
        channel: Channel,
        replicas: ReplicaManager,
        isr_queue: IsrQueue,
        waiter: ThreadWaiter,
        *,
        broker_id: int,
        broker_epoch: Callable[[], int],
    ) -> None:
        """Take over the channel. The waiter is woken by what is queued, and by replicas that have a new place."""
        super().__init__("broker-asks")
        self._channel: Final = channel
        self._replicas: Final = replicas
        self._isr_queue: Final = isr_queue
        self._waiter: Final = waiter
        self._broker_id: Final = broker_id
        self._broker_epoch: Final = broker_epoch

    def _round(self) -> None:
        # Producers wait for ISRs, and nobody for what the metadata says of directories.
        self._isr_queue.settle(self._channel, self._broker_epoch(), self._replicas.led)
        self._assign_directories()
        self._back_off.succeeded()
        self._waiter.wait(_LONGEST_WAIT_SECONDS)

    def _assign_directories(self) -> None:
        """Let the metadata say in which directories new replicas lie, so that a disk that is missing is noticed.

        What is refused is asked again in another round, as by Kafka: a replica that is none any more is not wanted
        once the metadata has said so.
        """
        known = self._replicas.unassigned
        unassigned = known.copy()
        if not unassigned:
            return
        replicas = tuple(PlacedReplica(directory, *each) for each, directory in unassigned.items())
        epoch = self._broker_epoch()
        answer = asked(
            self._channel,
            AssignReplicasToDirsRequest(broker_id=self._broker_id, broker_epoch=epoch, replicas=replicas),
        )
        if answer.error is not ErrorCode.NONE:
            return
        for directory, topic_id, partition, error in answer.answers:
            each = PartitionId(topic_id, partition)
            # It may lie elsewhere by now.
            if error is ErrorCode.NONE and known.get(each) == directory:
                known.pop(each, None)

    def _wake(self) -> None:
        self._channel.close()
        self._waiter.wake()
