"""AllocateProducerIds: a broker asks the controller for ids that it may give to producers (KIP-730)."""

from dataclasses import dataclass
from typing import Final

from replication.records.codec.fields import Int32, Int64
from replication.wire.messages.field_types import Error
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateProducerIdsResponse:
    """The answer to an AllocateProducerIdsRequest; with an error the other fields mean nothing."""

    throttle_time_ms: Int32 = 0
    error: Error
    first_id: Int64 = -1
    count: Int32 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateProducerIdsRequest(Request[AllocateProducerIdsResponse]):
    """Asks for ids that nobody else gets (Kafka: AllocateProducerIdsRequest)."""

    broker_id: Int32
    broker_epoch: Int64


API_KEY: Final = 67
VERSIONS: Final = range(1)

REQUEST: Final[Form[AllocateProducerIdsRequest]] = Form("AllocateProducerIdsRequest", AllocateProducerIdsRequest, 0)
RESPONSE: Final[Form[AllocateProducerIdsResponse]] = Form("AllocateProducerIdsResponse", AllocateProducerIdsResponse, 0)
