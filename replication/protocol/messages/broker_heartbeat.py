"""BrokerHeartbeat: a broker tells the controller that it is alive, and what it wants (KIP-631, KIP-858)."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from replication.protocol.error_code import ErrorCode, code_of
from replication.protocol.messages.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatResponse:
    """The answer to a BrokerHeartbeatRequest; with an error the other fields mean nothing."""

    error: ErrorCode
    is_caught_up: bool
    """The metadata was replayed up to the broker's own registration."""
    is_fenced: bool
    should_shut_down: bool
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatRequest(Request[BrokerHeartbeatResponse]):
    """Renews a broker's session."""

    broker_id: int
    broker_epoch: int
    current_metadata_offset: int
    """The highest offset of the metadata that is replayed; -1 before the first."""
    want_fence: bool = False
    want_shut_down: bool = False
    offline_log_dirs: tuple[UUID, ...] = ()
    """Directories that failed since the registration (v1)."""
    cordoned_log_dirs: tuple[UUID, ...] | None = None
    """Directories that are to get no new replicas; None: say nothing about that (v2)."""


API_KEY: Final = 63
VERSIONS: Final = range(3)

_SINCE_OFFLINE: Final = 1
_SINCE_CORDONED: Final = 2


def encode_broker_heartbeat(request: BrokerHeartbeatRequest, classes: Any) -> Any:
    """Return the request as one of kio's `classes`; what their version cannot say is left out, as Kafka does."""
    version = classes.BrokerHeartbeatRequest.__version__
    fields: dict[str, Any] = {}
    if version >= _SINCE_OFFLINE:
        fields["offline_log_dirs"] = request.offline_log_dirs
    if version >= _SINCE_CORDONED:
        fields["cordoned_log_dirs"] = request.cordoned_log_dirs
    return classes.BrokerHeartbeatRequest(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        current_metadata_offset=request.current_metadata_offset,
        want_fence=request.want_fence,
        want_shut_down=request.want_shut_down,
        **fields,
    )


def decode_broker_heartbeat(payload: Any) -> BrokerHeartbeatResponse:
    """Read kio's BrokerHeartbeatResponse."""
    return BrokerHeartbeatResponse(
        error=code_of(payload.error_code),
        is_caught_up=payload.is_caught_up,
        is_fenced=payload.is_fenced,
        should_shut_down=payload.should_shut_down,
        throttle_time_ms=payload.throttle_time // timedelta(milliseconds=1),
    )
