"""ControlledShutdown: a broker of the ZooKeeper era asks to be relieved of what it leads, before it stops (KIP-380)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from logstore import TopicPartition
from replication.records.codec.codec import Since, Structs
from replication.records.codec.fields import Int32, Int64, String
from replication.wire.error_code import ErrorCode
from replication.wire.messages.classic.leader_and_isr import NO_BROKER_EPOCH
from replication.wire.messages.field_types import Error
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlledShutdownResponse:
    """The answer to a ControlledShutdownRequest."""

    error: ErrorCode = ErrorCode.NONE
    remaining: Sequence[TopicPartition] = ()
    """What the broker still leads: it may stop once there is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlledShutdownRequest(Request[ControlledShutdownResponse]):
    """Asks that other brokers lead in this one's place (Kafka: ControlledShutdownRequest)."""

    broker_id: Int32
    broker_epoch: Annotated[Int64, Since(2, ignorable=True)] = NO_BROKER_EPOCH


API_KEY: Final = 7
VERSIONS: Final = range(1, 4)
"""Version 0 came with a request header of its own."""

_FLEXIBLE_SINCE: Final = 3


class _Partition(NamedTuple):
    topic_name: String
    partition_index: Int32


class _Response(NamedTuple):
    error_code: Error
    remaining_partitions: Annotated[tuple[_Partition, ...], Structs(_Partition)]


def _encode_response(response: ControlledShutdownResponse, _: int) -> _Response:
    return _Response(response.error, tuple(_Partition(*each) for each in response.remaining))


def _decode_response(fields: _Response, _: int) -> ControlledShutdownResponse:
    remaining = tuple(TopicPartition(*each) for each in fields.remaining_partitions)
    return ControlledShutdownResponse(error=fields.error_code, remaining=remaining)


REQUEST: Final[Form[ControlledShutdownRequest]] = Form(
    "ControlledShutdownRequest", ControlledShutdownRequest, _FLEXIBLE_SINCE
)
RESPONSE: Final = Form("ControlledShutdownResponse", _Response, _FLEXIBLE_SINCE, _encode_response, _decode_response)
