"""What a handler knows of a request beside the request itself."""

from typing import NamedTuple

ANONYMOUS = "User:ANONYMOUS"
"""Who has not said who they are (Kafka: KafkaPrincipal.ANONYMOUS)."""


class Caller(NamedTuple):
    """The other side of a connection."""

    address: str
    """Its IP address."""
    principal: str = ANONYMOUS
    """Who it has proven to be, such as `User:alice` (Kafka: KafkaPrincipal)."""
    listener: str = "PLAINTEXT"
    """The name of the listener that it came by: answers name the brokers' listeners of that name."""


class Call(NamedTuple):
    """One request of a caller."""

    version: int
    """The version of the API, in which the answer is written."""
    caller: Caller
    client_id: str | None = None
    """What the client calls itself."""
