"""DescribeCluster: which brokers are registered, and which of them are fenced (KIP-700, KIP-1073)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from replication.records.codec.codec import Since, Structs
from replication.records.codec.fields import Bool, Int8, Int16, Int32, OptionalString, String
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.field_types import OPERATIONS_NOT_ASKED
from replication.wire.messages.form import Form
from replication.wire.messages.metadata import Broker
from replication.wire.messages.request import Request

BROKERS: Final = 1
"""The type of endpoints to describe (KIP-919)."""

CONTROLLERS: Final = 2
"""The other type: where the quorum's controllers listen."""


class DescribedBroker(NamedTuple):
    """A broker, and whether it may lead and be in sync."""

    broker: Broker
    is_fenced: bool | None
    """None below version 2, which describes only brokers that are not fenced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedCluster:
    """The answer to a DescribeClusterRequest (Kafka: DescribeClusterResponse)."""

    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    cluster_id: str
    controller_id: int
    """A broker that forwards to the controller; the controller itself where ZooKeeper keeps the metadata; or -1."""
    brokers: Mapping[int, DescribedBroker]
    throttle_time_ms: int = 0
    endpoint_type: int = BROKERS
    authorized_operations: int = OPERATIONS_NOT_ASKED
    """What the asker may do with the cluster, one bit for each operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterRequest(Request[DescribedCluster]):
    """Asks for all brokers, by default fenced ones too (Kafka: DescribeClusterRequest)."""

    include_cluster_authorized_operations: Bool = False
    endpoint_type: Annotated[Int8, Since(1, ignorable=True)] = BROKERS
    include_fenced_brokers: Annotated[Bool, Since(2, ignorable=True)] = True


API_KEY: Final = 60
VERSIONS: Final = range(3)

_SINCE_FENCED: Final = 2


class _Broker(NamedTuple):
    broker_id: Int32
    host: String
    port: Int32
    rack: OptionalString = None
    is_fenced: Annotated[Bool, Since(2, ignorable=True)] = False


class _Response(NamedTuple):
    throttle_time_ms: Int32
    error: Int16
    error_message: OptionalString
    endpoint_type: Annotated[Int8, Since(1, ignorable=True)] = BROKERS
    cluster_id: String = ""
    controller_id: Int32 = -1
    brokers: Annotated[tuple[_Broker, ...], Structs(_Broker)] = ()
    authorized_operations: Int32 = OPERATIONS_NOT_ASKED


def _encode_response(response: DescribedCluster, _: int) -> _Response:
    return _Response(
        response.throttle_time_ms,
        response.error,
        response.error_message,
        response.endpoint_type,
        response.cluster_id,
        response.controller_id,
        tuple(_Broker(*broker, bool(is_fenced)) for broker, is_fenced in response.brokers.values()),
        response.authorized_operations,
    )


def _decode_response(fields: _Response, version: int) -> DescribedCluster:
    return DescribedCluster(
        error=code_of(fields.error),
        error_message=fields.error_message,
        cluster_id=fields.cluster_id,
        controller_id=fields.controller_id,
        brokers={
            broker_id: DescribedBroker(
                Broker(broker_id, host, port, rack), is_fenced if version >= _SINCE_FENCED else None
            )
            for broker_id, host, port, rack, is_fenced in fields.brokers
        },
        throttle_time_ms=fields.throttle_time_ms,
        endpoint_type=fields.endpoint_type,
        authorized_operations=fields.authorized_operations,
    )


REQUEST: Final[Form[DescribeClusterRequest]] = Form("DescribeClusterRequest", DescribeClusterRequest, 0)
RESPONSE: Final = Form("DescribeClusterResponse", _Response, 0, _encode_response, _decode_response)
