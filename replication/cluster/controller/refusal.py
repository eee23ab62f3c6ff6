"""What the controller answers in place of doing what was asked."""

from replication.base.errors import ReplicationError
from replication.wire.error_code import ErrorCode


class Refusal(ReplicationError, RuntimeError):  # noqa: N818 - a reply to a client, not a failure of this side
    """A request that is not granted, with Kafka's error code and message (Kafka: ApiException)."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        self.code = code
        self.name = code.name
        """As in Kafka's documentation, such as STALE_BROKER_EPOCH."""
        self.message = message
        """What the answer's error message says; None where the code says it all."""
        super().__init__(f"{self.name}: {message}" if message else self.name)
