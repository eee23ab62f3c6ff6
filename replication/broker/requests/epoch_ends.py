"""Answers OffsetForLeaderEpoch: where epochs ended in the logs that this broker leads with (KIP-101)."""

from typing import Final

from epoch import UNDEFINED_END_OFFSET
from logstore import TopicPartition
from replication.broker.partitions.hosted_partition import HostedPartition
from replication.broker.requests.partition_lookup import ANY_EPOCH, PartitionLookup
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.offset_for_leader_epoch import (
    EpochAnswer,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from replication.server.call import Call

# Half the cost of calling a NamedTuple's class.
_build: Final = tuple.__new__
_NONE: Final = ErrorCode.NONE


class EpochEnds:
    """Knows what the leaders of epochs wrote (Kafka: ReplicaManager.lastOffsetForLeaderEpoch)."""

    def __init__(self, lookup: PartitionLookup) -> None:
        """Look the partitions up here."""
        self._find = lookup.find
        self._copy = lookup.copy

    def answer(self, request: OffsetForLeaderEpochRequest, _: Call) -> OffsetForLeaderEpochResponse:
        """Answer for each partition."""
        find, copy = self._find, self._copy
        answers: dict[TopicPartition, EpochAnswer] = {}
        for partition, (current_leader_epoch, leader_epoch) in request.partitions.items():
            hosted = copy(partition)
            if hosted is not None and hosted.is_leader and current_leader_epoch in (ANY_EPOCH, hosted.leader_epoch):
                found: HostedPartition | ErrorCode = hosted  # most ask so: `find` says the same in twice the time
            else:
                found = find(partition, current_leader_epoch, only_leader=True)
            if isinstance(found, HostedPartition):
                log = found.log
                end = log.epochs.end_offset_for(leader_epoch, log.log_end_offset)
                answers[partition] = _build(EpochAnswer, (_NONE, end))
            else:
                answers[partition] = EpochAnswer(found, UNDEFINED_END_OFFSET)
        return OffsetForLeaderEpochResponse(partitions=answers)
