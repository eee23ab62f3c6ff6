"""What a server allows its clients together, and each of them."""

from dataclasses import dataclass, fields
from typing import Final

from replication.wire.errors import InvalidSettingsError

UNLIMITED: Final = -1
_LONGEST: Final = 1e8
"""Seconds: three years are for ever to sockets, which do not take just any number."""
_NOT_NEGATIVE: Final = ("socket_request_max_bytes", "max_connections", "max_connections_per_ip")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Under Kafka's names, and by default with its values."""

    socket_request_max_bytes: int = 104_857_600
    """The largest request. Who announces a larger one is hung up on before room is made for it."""
    queued_max_request_bytes: int = UNLIMITED
    """The memory of all requests that are being received or answered; -1: no limit. As in Kafka it is exceeded by one \
request at most; while there is none left, no further request is received."""
    max_connections: int = 2**31 - 1
    """Connections in all. Further ones wait to be accepted until one has ended."""
    max_connections_per_ip: int = 2**31 - 1
    """Connections from one address. Further ones are closed at once."""
    connections_max_idle_ms: int = 600_000
    """How long a connection may send nothing, or take nothing of its answer, before it is closed; -1: for ever."""

    def __post_init__(self) -> None:
        """Raise InvalidSettingsError for what is no limit."""
        for field in fields(self):
            value, least = getattr(self, field.name), 0 if field.name in _NOT_NEGATIVE else UNLIMITED
            if value < least:
                raise InvalidSettingsError(f"{field.name.replace('_', '.')} is {value}: it must be {least} or more")

    @property
    def idle_seconds(self) -> float | None:
        """How long a connection may be idle; None: for ever."""
        return None if self.connections_max_idle_ms < 0 else min(self.connections_max_idle_ms / 1_000, _LONGEST)
