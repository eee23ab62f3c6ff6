"""An API as a server answers it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from replication.wire.server.call import Call
from replication.wire.server.pending import Pending


@dataclass(frozen=True, slots=True)
class ServedApi:
    """What answers the requests of one API."""

    versions: range
    """Those that are answered, which ApiVersions lists."""
    answer: Callable[[Any, Call], Any | Pending]
    """Returns the answer in the terms of the request: one of ours or of kio's; a `Pending` where it has to wait; or
    None where the request asks for none (Produce with acks 0)."""


ServedApis: TypeAlias = Mapping[int, ServedApi]
"""By API key."""
