"""The first look at the partitions of a fetch by another broker, which keeps copies of them."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from logstore.log.readable_log import ReadableLog
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import Pair
from replication.cluster.broker.requests.fetch.fetch_pass import FetchPass
from replication.cluster.broker.requests.fetch.watched_partition import WatchedPartition
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchedPartition, FetchPartition

_BASE_OFFSET: Final = slice(8)


class ReplicaFetchPass(FetchPass):
    """Also lets the leaders know what the replica has: by what it fetches, not by what it is waiting for."""

    def read(
        self,
        partition: Pair | None,
        hosted: HostedPartition | None,
        topic_id: UUID | None,
        asked: FetchPartition,
    ) -> FetchedPartition:
        """Read one, and note how far the replica has got in it. The answer is from before that."""
        if hosted is None or hosted.led is None:
            return super().read(partition, hosted, topic_id, asked)
        leader_end_offset = hosted.log.log_end_offset
        answer = super().read(partition, hosted, topic_id, asked)
        if answer.error is not ErrorCode.NONE or answer.diverging_epoch is not None:
            return answer
        offset = asked.fetch_offset
        if not self.is_quiet:
            offset = min(offset, _first_offset(hosted.log, offset, answer.records))
        error = self._note(hosted, asked, offset, leader_end_offset)
        return answer if error is ErrorCode.NONE else self._refuse(partition, hosted, error)

    def refused(self, unread: Iterable[WatchedPartition]) -> list[WatchedPartition]:
        """Note that the replica still has all of these, to which nothing has happened; return those that refuse it."""
        return [watched for watched in unread if self._refuses(watched)]

    def _refusal(self, partition: Pair, hosted: HostedPartition, current: int) -> ErrorCode:
        error = super()._refusal(partition, hosted, current)
        if hosted.led is None or error is not ErrorCode.NONE:
            return error
        return hosted.led.refusal(self._terms.replica_id, current)

    def _refuses(self, watched: WatchedPartition) -> bool:
        hosted, asked = watched.hosted, watched.asked
        if hosted is None or hosted.led is None:
            return False
        return self._note(hosted, asked, asked.fetch_offset, asked.fetch_offset) is not ErrorCode.NONE

    def _note(self, hosted: HostedPartition, asked: FetchPartition, offset: int, leader_end_offset: int) -> ErrorCode:
        if hosted.led is None:
            return ErrorCode.NONE
        return hosted.led.fetched(
            self._terms.replica_id,
            self._terms.replica_epoch,
            offset,
            asked.log_start_offset,
            leader_end_offset=leader_end_offset,
            current_leader_epoch=asked.current_leader_epoch,
        )


def _first_offset(log: ReadableLog, offset: int, records: bytes | memoryview) -> int:
    """Return the base offset of the batch that holds an offset: the first of an answer, unless that had no room."""
    data = records or log.read(offset, 0).data
    return int.from_bytes(data[_BASE_OFFSET]) if data else offset
