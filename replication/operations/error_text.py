"""Errors of a broker as people read them: Kafka's name for the code, and what it says."""

from replication.protocol.error_code import ErrorCode, message_of


def error_text(code: ErrorCode, message: str | None = None) -> str:
    """Return an error's name with the broker's message or, where it sent none, the usual one (Kafka: Errors.message).

    >>> error_text(ErrorCode.REQUEST_TIMED_OUT)
    'REQUEST_TIMED_OUT: The request timed out.'
    """
    told = message_of(code) if message is None else message
    return code.name if told is None else f"{code.name}: {told}"
