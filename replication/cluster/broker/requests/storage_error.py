"""What is answered where a log cannot be read."""

from epoch.base.resource_limits import is_limit
from logstore import CorruptBatchError, TornBatchError, UnsupportedFormatError
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.wire.error_code import ErrorCode


def is_damage(error: Exception) -> bool:
    """Whether a batch that was to be read is damaged: clients get CORRUPT_MESSAGE then, as from Kafka."""
    return isinstance(error, CorruptBatchError | TornBatchError)


def storage_error(hosted: HostedPartition, error: Exception) -> ErrorCode:
    """Return the code for what reading a copy has raised, and let who has hosted it know."""
    if isinstance(error, UnsupportedFormatError):
        return ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    if not is_limit(error):  # for want of descriptors or memory: nothing is wrong with the copy
        hosted.on_failure(error)
    return ErrorCode.KAFKA_STORAGE_ERROR
