"""What was appended, and is to be replicated before that is acknowledged (acks=all)."""

from typing import Any, NamedTuple

from logstore import TopicPartition
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.wire.error_code import ErrorCode


class AwaitedAppend(NamedTuple):
    """One partition's part of a request."""

    key: Any
    """By which the answer names it."""
    partition: TopicPartition
    hosted: HostedPartition
    led: LedPartition
    """Who leads with it: not again after `resign`, so that what was cut off meanwhile is not taken for replicated."""
    end_offset: int
    """The high watermark that is waited for."""

    def outcome(self, lookup: PartitionLookup) -> ErrorCode | None:
        """Return NONE once all in sync have it, or why they will not; None until then."""
        if lookup.copy(self.partition) is None:
            return lookup.absence(self.partition)
        return self.led.replicated(self.end_offset)
