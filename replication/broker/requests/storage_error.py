"""What is answered where a log cannot be read."""

from epoch.resource_limits import is_limit
from logstore import CorruptBatchError, TornBatchError, UnsupportedFormatError
from replication.broker.partitions.hosted_partition import HostedPartition
from replication.protocol.error_code import ErrorCode


def is_damage(error: Exception) -> bool:
    """Tell whether a batch that was to be read is damaged: clients are told CORRUPT_MESSAGE then, as by Kafka's."""
    return isinstance(error, CorruptBatchError | TornBatchError)


def storage_error(hosted: HostedPartition, error: Exception) -> ErrorCode:
    """Return the code for what reading a copy has raised, and let who has hosted it know."""
    if isinstance(error, UnsupportedFormatError):
        return ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    if not is_limit(error):  # for want of descriptors or memory: nothing is wrong with the copy
        hosted.on_failure(error)
    return ErrorCode.KAFKA_STORAGE_ERROR
