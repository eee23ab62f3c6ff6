"""BrokerHeartbeat: a broker tells the controller that it is alive, and what it wants (KIP-631, KIP-858)."""

from dataclasses import dataclass
from typing import Annotated, Final

from replication.records.codec.codec import Since, Tag
from replication.records.codec.fields import Bool, Int32, Int64, OptionalUuids, Uuids
from replication.wire.messages.field_types import Error
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatResponse:
    """The answer to a BrokerHeartbeatRequest; with an error the other fields mean nothing."""

    throttle_time_ms: Int32 = 0
    error: Error
    is_caught_up: Bool
    """The metadata was replayed up to the broker's own registration."""
    is_fenced: Bool
    should_shut_down: Bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatRequest(Request[BrokerHeartbeatResponse]):
    """Renews a broker's session."""

    broker_id: Int32
    broker_epoch: Int64
    current_metadata_offset: Int64
    """The highest offset of the metadata that is replayed; -1 before the first."""
    want_fence: Bool = False
    want_shut_down: Bool = False
    offline_log_dirs: Annotated[Uuids, Since(1, ignorable=True), Tag(0)] = ()
    """Directories that failed since the registration (v1)."""
    cordoned_log_dirs: Annotated[OptionalUuids, Since(2, ignorable=True), Tag(1)] = None
    """Directories that are to get no new replicas; None: say nothing about that (v2)."""


API_KEY: Final = 63
VERSIONS: Final = range(3)

REQUEST: Final[Form[BrokerHeartbeatRequest]] = Form("BrokerHeartbeatRequest", BrokerHeartbeatRequest, 0)
RESPONSE: Final[Form[BrokerHeartbeatResponse]] = Form("BrokerHeartbeatResponse", BrokerHeartbeatResponse, 0)
