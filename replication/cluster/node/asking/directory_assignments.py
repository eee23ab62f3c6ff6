"""What a broker reports to its controller of the directories that its replicas lie in (KIP-858)."""

from itertools import islice
from typing import Final
from uuid import UUID

from logstore.files.partition_metadata import format_uuid
from replication.cluster.broker.events.trouble import TellTrouble, Trouble, untold
from replication.cluster.broker.events.trouble_events import TroubleKind
from replication.records.metadata.image_changes import PartitionId
from replication.wire.error_code import ErrorCode
from replication.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    PlacedReplica,
    PlacementAnswer,
)

_MOST: Final = 2_250
"""Replicas in one request (Kafka: AssignReplicasToDirsRequest.MAX_ASSIGNMENTS_PER_REQUEST)."""


class DirectoryAssignments:
    """Registers where replicas lie, so that a missing disk is noticed (Kafka: AssignmentsManager).

    What is refused is asked again, as by Kafka: a replica that is none any more is not in `unassigned` once the
    metadata has said so. See `replication.cluster.node.asking.controller_requests.ControllerRequests`.
    """

    again_ms: Final = 500
    """As Kafka's brokers."""

    def __init__(self, broker_id: int, unassigned: dict[PartitionId, UUID], tell: TellTrouble = untold) -> None:
        """Report a broker's assignments in `unassigned`, from which those are removed that the controller has noted.

        `tell` is called, once for each error, with what it does not note.
        """
        self._broker_id: Final = broker_id
        self._unassigned: Final = unassigned
        self._asked: tuple[PlacedReplica, ...] = ()
        self._trouble: Final = Trouble(TroubleKind.DIRECTORIES, tell=tell)

    def next(self, broker_epoch: int) -> AssignReplicasToDirsRequest | None:
        """Return a request for all that is not assigned yet, as far as one request takes it."""
        unassigned = self._unassigned.copy()
        if not unassigned:
            self._trouble.end()
            return None
        first = sorted(islice(unassigned.items(), _MOST), key=lambda each: (each[1], each[0]))
        self._asked = tuple(PlacedReplica(directory, *each) for each, directory in first)
        return AssignReplicasToDirsRequest(broker_id=self._broker_id, broker_epoch=broker_epoch, replicas=self._asked)

    def answered(self, answer: AssignReplicasToDirsResponse, *, may_arrive_late: bool) -> bool:
        """Note what the controller has; return whether that is all that was asked."""
        del may_arrive_late  # what is told is what it says then
        if answer.error is not ErrorCode.NONE:
            self._trouble.begin(
                f"the controller does not note in which directories replicas lie: {answer.error.name}",
                answer.error.name,
            )
            return False
        for placed in answer.answers:
            self._note(placed)
        is_done = not any(self._is_left(each) for each in self._asked)
        if is_done:
            self._trouble.end()
        return is_done

    def failed(self, reason: str) -> None:
        """Do nothing but say so: what was asked is unassigned yet."""
        self._trouble.begin(f"the controller does not answer in which directories replicas lie: {reason}")

    def _note(self, placed: PlacementAnswer) -> None:
        directory, topic_id, partition, error = placed
        replica = PartitionId(topic_id, partition)
        if error is not ErrorCode.NONE:
            self._trouble.begin(
                f"the controller does not note that partition {partition} of the topic with the id "
                f"{format_uuid(topic_id)} lies in the directory with the id {format_uuid(directory)}: {error.name}",
                error.name,
            )
        elif self._unassigned.get(replica) == directory:  # it may lie elsewhere by now
            self._unassigned.pop(replica, None)

    def _is_left(self, replica: PlacedReplica) -> bool:
        return self._unassigned.get(PartitionId(replica.topic_id, replica.partition)) == replica.directory_id
