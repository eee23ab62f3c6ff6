"""Answers OffsetForLeaderEpoch: where epochs ended in the logs that this broker leads with (KIP-101)."""

from collections.abc import Iterable
from typing import Final, TypeAlias

from epoch import UNDEFINED_END_OFFSET
from logstore import TopicPartition
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.requests.partition_lookup import ANY_EPOCH, PartitionLookup
from replication.wire.error_code import ErrorCode
from replication.wire.messages.offset_for_leader_epoch import (
    EpochAnswer,
    EpochQuestion,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from replication.wire.server.call import Call

_Answered: TypeAlias = tuple[TopicPartition, EpochAnswer]
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
        """Answer for each partition, as often as it is named."""
        answers = dict(self._ends(request.partitions.items()))
        return OffsetForLeaderEpochResponse(partitions=answers, repeated=self._ends(request.repeated))

    def _ends(self, questions: Iterable[tuple[TopicPartition, EpochQuestion]]) -> list[_Answered]:
        find, copy = self._find, self._copy
        answers: list[_Answered] = []
        for partition, (current_leader_epoch, leader_epoch) in questions:
            hosted = copy(partition)
            if hosted is not None and hosted.is_leader and current_leader_epoch in (ANY_EPOCH, hosted.leader_epoch):
                found: HostedPartition | ErrorCode = hosted  # most ask so: `find` says the same in twice the time
            else:
                found = find(partition, current_leader_epoch, only_leader=True)
            if isinstance(found, HostedPartition):
                log = found.log
                answer = _build(EpochAnswer, (_NONE, log.epochs.end_offset_for(leader_epoch, log.log_end_offset)))
            else:
                answer = EpochAnswer(found, UNDEFINED_END_OFFSET)
            answers.append((partition, answer))
        return answers
