"""What is answered where a log cannot be read."""

from logstore import UnsupportedFormatError
from replication.broker.partitions.hosted_partition import HostedPartition
from replication.protocol.error_code import ErrorCode


def storage_error(hosted: HostedPartition, error: Exception) -> ErrorCode:
    """Return the code for what reading a copy has raised, and let who has hosted it know."""
    if isinstance(error, UnsupportedFormatError):
        return ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    hosted.on_failure(error)
    return ErrorCode.KAFKA_STORAGE_ERROR
