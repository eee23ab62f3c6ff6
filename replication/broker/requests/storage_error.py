"""What is answered where a log cannot be read."""

from logstore import UnsupportedFormatError
from replication.protocol.error_code import ErrorCode


def storage_error(error: Exception) -> ErrorCode:
    """Return the code for what reading a log has raised."""
    if isinstance(error, UnsupportedFormatError):
        return ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    return ErrorCode.KAFKA_STORAGE_ERROR
