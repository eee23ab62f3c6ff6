"""What goes into a partition of a broker and out of it (Kafka: BrokerTopicMetrics, which are by topic)."""

from threading import Lock
from typing import Final

from logstore.append.append_info import AppendInfo
from replication.wire.error_code import ErrorCode

_EXPECTED: Final = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""What Kafka does not count among failed appends."""


class PartitionTraffic:
    """Numbers that only grow, as long as the broker has the partition, whoever leads it."""

    __slots__ = (
        "_lock",
        "bytes_in",
        "bytes_out",
        "failed_appends",
        "messages_in",
        "replication_bytes_in",
        "replication_bytes_out",
    )

    def __init__(self) -> None:
        """Begin with none."""
        self.failed_appends: int = 0
        """Appends of producers that failed, otherwise than those who ask the wrong broker (Kafka:
        FailedProduceRequestsPerSec)."""
        self.messages_in: int = 0
        self.bytes_in: int = 0
        """Of record batches, as appended."""
        self.bytes_out: int = 0
        """To consumers."""
        self.replication_bytes_in: int = 0
        """From the leader."""
        self.replication_bytes_out: int = 0
        """To followers."""
        self._lock: Final = Lock()

    def appended(self, info: AppendInfo, size: int) -> None:
        """Count what was appended, or had been before, under the lock of who leads: this takes none."""
        self.messages_in += info[1] - info[0] + 1
        self.bytes_in += size

    def refused(self, error: ErrorCode) -> None:
        """Count an append that failed. Any thread may."""
        if error not in _EXPECTED:
            with self._lock:
                self.failed_appends += 1

    def fetched(self, size: int, *, is_follower: bool) -> None:
        """Count bytes of records that are sent. Any thread may."""
        with self._lock:
            if is_follower:
                self.replication_bytes_out += size
            else:
                self.bytes_out += size
