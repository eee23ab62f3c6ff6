"""What a broker tells its controller of the directories that its replicas lie in (KIP-858)."""

import logging
from itertools import islice
from typing import Final
from uuid import UUID

from logstore.files.partition_metadata import format_uuid
from replication.metadata.image_changes import PartitionId
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    PlacedReplica,
)

_log: Final = logging.getLogger(__name__)
_MOST: Final = 2_250
"""Replicas in one request (Kafka: AssignReplicasToDirsRequest.MAX_ASSIGNMENTS_PER_REQUEST)."""


class DirectoryAssignments:
    """Lets the metadata say where replicas lie, so that a disk that is missing is noticed (Kafka: AssignmentsManager).

    What is refused is asked again, as by Kafka: a replica that is none any more is not in `unassigned` once the
    metadata has said so. See `replication.node.asking.controller_requests.ControllerRequests`.
    """

    again_ms: Final = 500
    """As Kafka's brokers."""

    def __init__(self, broker_id: int, unassigned: dict[PartitionId, UUID]) -> None:
        """Tell as a broker of all that is in `unassigned`, out of which is taken what the controller has noted."""
        self._broker_id: Final = broker_id
        self._unassigned: Final = unassigned
        self._asked: tuple[PlacedReplica, ...] = ()
        self._refused: dict[PartitionId, ErrorCode] = {}
        self._trouble: ErrorCode = ErrorCode.NONE

    def next(self, broker_epoch: int) -> AssignReplicasToDirsRequest | None:
        """Return a request for all that is not assigned yet, as far as one request takes it."""
        unassigned = self._unassigned.copy()
        if not unassigned:
            return None
        first = sorted(islice(unassigned.items(), _MOST), key=lambda each: (each[1], each[0]))
        self._asked = tuple(PlacedReplica(directory, *each) for each, directory in first)
        return AssignReplicasToDirsRequest(broker_id=self._broker_id, broker_epoch=broker_epoch, replicas=self._asked)

    def answered(self, answer: AssignReplicasToDirsResponse, *, may_arrive_late: bool) -> bool:
        """Note what the controller has; return whether that is all that was asked."""
        del may_arrive_late  # what is told is what it says then
        self._log_trouble(answer.error)
        refused: dict[PartitionId, ErrorCode] = {}
        for directory, topic_id, partition, error in answer.answers:
            each = PartitionId(topic_id, partition)
            if error is not ErrorCode.NONE:
                refused[each] = error
                self._log_refused(each, directory, error)
            elif self._unassigned.get(each) == directory:  # it may lie elsewhere by now
                self._unassigned.pop(each, None)
        self._refused = refused
        return not any(self._is_left(each) for each in self._asked)

    def failed(self, reason: str) -> None:
        """Do nothing: what was asked is unassigned yet."""
        del reason

    def _is_left(self, replica: PlacedReplica) -> bool:
        return self._unassigned.get(PartitionId(replica.topic_id, replica.partition)) == replica.directory_id

    def _log_trouble(self, error: ErrorCode) -> None:
        if error not in (ErrorCode.NONE, self._trouble):
            _log.error("the controller notes no directories of replicas: %s; it is asked again", error.name)
        self._trouble = error

    def _log_refused(self, each: PartitionId, directory: UUID, error: ErrorCode) -> None:
        """Say it once, and not each time that it is asked again."""
        if self._refused.get(each) is not error:
            _log.error(
                "the controller does not note that partition %d of the topic with the id %s lies in the directory with "
                "the id %s: %s; it is asked again",
                each.partition,
                format_uuid(each.topic_id),
                format_uuid(directory),
                error.name,
            )
