"""Errors of a broker as people read them: Kafka's name for the code, and what it says."""

from collections.abc import Mapping
from typing import Final

from replication.protocol.error_code import ErrorCode

_MESSAGES: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the request.",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.LEADER_NOT_AVAILABLE: (
        "There is no leader for this topic-partition as we are in the middle of a leadership election."
    ),
    ErrorCode.REQUEST_TIMED_OUT: "The request timed out.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.NOT_CONTROLLER: "This is not the correct controller for this cluster.",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Eligible topic partition leaders are not available.",
}
"""The messages of the errors of elections, if the broker sends none."""


def error_text(code: ErrorCode, message: str | None = None) -> str:
    """Return an error's name with the broker's message or, where it sent none, the usual one (Kafka: Errors.message).

    >>> error_text(ErrorCode.REQUEST_TIMED_OUT)
    'REQUEST_TIMED_OUT: The request timed out.'
    """
    told = _MESSAGES.get(code) if message is None else message
    return code.name if told is None else f"{code.name}: {told}"
