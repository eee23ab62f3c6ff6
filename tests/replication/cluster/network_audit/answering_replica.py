"""A replica in memory, and a broker that answers consumers' requests for it, as Kafka's do or not."""

from dataclasses import dataclass, field, replace
from typing import Any

from logstore.batch.batches import read_batches
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import TopicPartition
from replication.cluster.network_audit.broker_reader import BrokerReader
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.api_versions import ApiVersions
from replication.wire.messages.fetch import FetchedPartition, FetchRequest, FetchResponse
from replication.wire.messages.list_offsets import ListedOffset, ListOffsetsRequest, ListOffsetsResponse

T0 = TopicPartition("t", 0)
VERSIONS = ApiVersions({1: range(4, 18), 2: range(1, 10)})


@dataclass
class AnsweringReplica:
    """Answers Fetch and ListOffsets for one partition."""

    data: bytes
    start: int
    high_watermark: int
    partition: TopicPartition = T0
    leader_epoch: int = 7
    throttled: int = 0
    """So many of the next fetches are answered as a quota has it: with nothing, and a time to wait."""
    requests: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, partition: PartitionDirectory, high_watermark: int) -> "AnsweringReplica":
        """Answer with the files of a partition."""
        data = b"".join(segment.log_path.read_bytes() for segment in partition.segments)
        return cls(data, partition.log_start_offset, high_watermark, partition.topic_partition)

    def answer(self, request: Any) -> Any:
        self.requests.append(request)
        if isinstance(request, ListOffsetsRequest):
            assert request.replica_id == -2
            return ListOffsetsResponse(partitions={self.partition: ListedOffset(ErrorCode.NONE, self.start)})
        assert isinstance(request, FetchRequest)
        assert request.replica_id == -1
        if self.throttled:
            self.throttled -= 1
            return FetchResponse(throttle_time_ms=1, partitions={})
        ((partition, asked),) = request.partitions.items()
        return FetchResponse(partitions={partition: self._fetched(asked.fetch_offset, asked.max_bytes, asked[2])})

    def _fetched(self, offset: int, max_bytes: int, leader_epoch: int) -> FetchedPartition:
        told = FetchedPartition(ErrorCode.NONE, self.high_watermark, self.start)
        if leader_epoch != self.leader_epoch:
            return FetchedPartition(ErrorCode.FENCED_LEADER_EPOCH, -1)
        if not self.start <= offset <= self.high_watermark:
            return FetchedPartition(ErrorCode.OFFSET_OUT_OF_RANGE, -1)
        found = [batch for batch in read_batches(memoryview(self.data), 0, None) if batch.last_offset >= offset]
        found = [batch for batch in found if batch.last_offset < self.high_watermark]
        if not found:
            return told
        first, last = found[0], found[-1]
        size = min(max(first.size, max_bytes), last.position + last.size - first.position)
        return replace_records(told, self.data[first.position : first.position + size])


def replace_records(told: FetchedPartition, records: bytes) -> FetchedPartition:
    return told._replace(records=records)


@dataclass
class Lying(AnsweringReplica):
    """Answers Fetch with changed answers."""

    changes: dict[str, Any] = field(default_factory=dict)
    named: TopicPartition | None = None
    """Instead of the partition that was asked for."""

    def answer(self, request: Any) -> Any:
        answer = super().answer(request)
        if isinstance(answer, FetchResponse):
            partitions = {self.named or each: told._replace(**self.changes) for each, told in answer.partitions.items()}
            return replace(answer, partitions=partitions)
        return answer


class AnsweringConnection:
    """In place of a connection: what is asked is answered at once."""

    address = Address("broker", 9092)
    versions = VERSIONS

    def __init__(self, replica: AnsweringReplica) -> None:
        self._replica = replica

    def ask(self, request: Any) -> Any:
        return self._replica.answer(request)


def reader_of(replica: AnsweringReplica, name: str = "broker-1") -> BrokerReader:
    """Read from a broker with this replica."""
    connection: Any = AnsweringConnection(replica)
    return BrokerReader(name, lambda: connection)
