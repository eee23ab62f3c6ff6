"""BrokerRegistration: a broker tells the controller that it has started (KIP-631, KIP-858, KIP-966)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Annotated, Final, NamedTuple
from uuid import UUID

from replication.records.codec.codec import Since, Structs
from replication.records.codec.fields import Bool, Int16, Int32, Int64, OptionalString, String, UInt16, Uuid, Uuids
from replication.wire.errors import MalformedRequestError
from replication.wire.messages.field_types import Error
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


class SecurityProtocol(IntEnum):
    """The security protocol of a listener, with its id in messages."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3


class Listener(NamedTuple):
    """An address at which clients and brokers connect (Kafka: advertised.listeners)."""

    name: str
    """Such as PLAINTEXT."""
    host: str
    port: int
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationResponse:
    """The answer to a BrokerRegistrationRequest."""

    throttle_time_ms: Int32 = 0
    error: Error
    broker_epoch: Int64
    """-1 with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationRequest(Request[BrokerRegistrationResponse]):
    """Asks for a place in the cluster; the same incarnation may ask again, and keeps its epoch."""

    broker_id: int
    cluster_id: str
    incarnation_id: UUID
    """Of this start of the process."""
    listeners: tuple[Listener, ...]
    features: Mapping[str, range] = field(default_factory=dict)
    """The levels that the broker can work at, by feature (KIP-584)."""
    rack: str | None = None
    is_migrating_zk_broker: bool = False
    """A broker of a cluster that moves from ZooKeeper to KRaft (KIP-866; v1)."""
    log_dirs: tuple[UUID, ...] = ()
    """The ids of the directories that work (v2)."""
    previous_broker_epoch: int = -1
    """Of the last start, where that ended in order: nothing of the logs is lost then (KIP-966; v3)."""


API_KEY: Final = 62
VERSIONS: Final = range(5)

_SINCE_LEVEL_ZERO: Final = 4


class _Listener(NamedTuple):
    name: String
    host: String
    port: UInt16
    security_protocol: Int16


class _Feature(NamedTuple):
    name: String
    lowest: Int16
    highest: Int16


class _Request(NamedTuple):
    broker_id: Int32
    cluster_id: String
    incarnation_id: Uuid
    listeners: Annotated[tuple[_Listener, ...], Structs(_Listener)]
    features: Annotated[tuple[_Feature, ...], Structs(_Feature)]
    rack: OptionalString
    is_migrating_zk_broker: Annotated[Bool, Since(1, ignorable=True)] = False
    log_dirs: Annotated[Uuids, Since(2, ignorable=True)] = ()
    previous_broker_epoch: Annotated[Int64, Since(3, ignorable=True)] = -1


def _encode_request(request: BrokerRegistrationRequest, version: int) -> _Request:
    features = [
        _Feature(name, levels.start, levels.stop - 1)
        for name, levels in request.features.items()
        if levels.start > 0 or version >= _SINCE_LEVEL_ZERO
    ]
    return _Request(
        request.broker_id,
        request.cluster_id,
        request.incarnation_id,
        tuple(_Listener(*listener) for listener in request.listeners),
        tuple(features),
        request.rack,
        request.is_migrating_zk_broker,
        request.log_dirs,
        request.previous_broker_epoch,
    )


def _decode_request(fields: _Request, _: int) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=fields.broker_id,
        cluster_id=fields.cluster_id,
        incarnation_id=fields.incarnation_id,
        listeners=tuple(_listener(each) for each in fields.listeners),
        features={name: range(lowest, highest + 1) for name, lowest, highest in fields.features},
        rack=fields.rack,
        is_migrating_zk_broker=fields.is_migrating_zk_broker,
        log_dirs=fields.log_dirs,
        previous_broker_epoch=fields.previous_broker_epoch,
    )


def _listener(told: _Listener) -> Listener:
    try:
        return Listener(told.name, told.host, told.port, SecurityProtocol(told.security_protocol))
    except ValueError as error:
        raise MalformedRequestError(f"the listener {told.name} of BrokerRegistrationRequest: {error}") from error


REQUEST: Final = Form("BrokerRegistrationRequest", _Request, 0, _encode_request, _decode_request)
RESPONSE: Final[Form[BrokerRegistrationResponse]] = Form("BrokerRegistrationResponse", BrokerRegistrationResponse, 0)
