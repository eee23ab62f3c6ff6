"""Errors of a broker as people read them: Kafka's name for the code, and what it says."""

from collections.abc import Mapping
from typing import Final

from kio.schema.errors import ErrorCode

_MESSAGES: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.unknown_server_error: "The server experienced an unexpected error when processing the request.",
    ErrorCode.unknown_topic_or_partition: "This server does not host this topic-partition.",
    ErrorCode.leader_not_available: (
        "There is no leader for this topic-partition as we are in the middle of a leadership election."
    ),
    ErrorCode.request_timed_out: "The request timed out.",
    ErrorCode.cluster_authorization_failed: "Cluster authorization failed.",
    ErrorCode.not_controller: "This is not the correct controller for this cluster.",
    ErrorCode.preferred_leader_not_available: "The preferred leader was not available.",
    ErrorCode.eligible_leaders_not_available: "Eligible topic partition leaders are not available.",
}
"""What the errors that elections end with say where the broker adds nothing."""


def error_text(code: ErrorCode, message: str | None = None) -> str:
    """Return an error's name with the broker's message or, where it sent none, the usual one (Kafka: Errors.message).

    >>> error_text(ErrorCode.request_timed_out)
    'REQUEST_TIMED_OUT: The request timed out.'
    """
    told = _MESSAGES.get(code) if message is None else message
    return code.name.upper() if told is None else f"{code.name.upper()}: {told}"
