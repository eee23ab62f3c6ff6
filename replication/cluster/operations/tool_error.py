"""The errors of Kafka's tools."""

from typing import Final

from replication.base.errors import ReplicationError

EXIT_FAILED: Final = 1
"""The exit status of Kafka's tools after any error."""


class ToolError(ReplicationError, ValueError):
    """The tool's own message; it goes to standard error, and the tool ends with EXIT_FAILED."""

    def __init__(
        self, message: str, reason: str = "", *, on_output_too: bool = False, is_reason_first: bool = False
    ) -> None:
        """`reason` says what the tool's message leaves out, in place of Kafka's stack trace."""
        told = (reason, message) if is_reason_first else (message, reason)
        self.lines = tuple(filter(None, told))
        """The lines for standard error, the tool's first where the reason is not what matters."""
        super().__init__("; ".join(self.lines))
        self.message = message
        self.reason = reason
        self.on_output_too = on_output_too
        """Whether the tool prints the message on standard output as well."""
