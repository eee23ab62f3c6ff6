"""BrokerRegistration: a broker tells the controller that it has started (KIP-631, KIP-858, KIP-966)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import IntEnum
from typing import Any, Final, NamedTuple
from uuid import UUID

from replication.protocol.error_code import ErrorCode, code_of
from replication.protocol.messages.request import Request


class SecurityProtocol(IntEnum):
    """How a listener is protected, with the numbers that messages carry."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3


class Listener(NamedTuple):
    """Where others reach a broker (Kafka: advertised.listeners)."""

    name: str
    """Such as PLAINTEXT."""
    host: str
    port: int
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationResponse:
    """The answer to a BrokerRegistrationRequest."""

    error: ErrorCode
    broker_epoch: int
    """-1 with an error."""
    throttle_time_ms: int = 0


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

_SINCE_ZK_MIGRATION: Final = 1
_SINCE_LOG_DIRS: Final = 2
_SINCE_PREVIOUS_EPOCH: Final = 3
_SINCE_LEVEL_ZERO: Final = 4


def encode_broker_registration(request: BrokerRegistrationRequest, classes: Any) -> Any:
    """Return the request as one of kio's `classes`; what their version cannot say is left out, as Kafka does."""
    version = classes.BrokerRegistrationRequest.__version__
    fields: dict[str, Any] = {}
    if version >= _SINCE_ZK_MIGRATION:
        fields["is_migrating_zk_broker"] = request.is_migrating_zk_broker
    if version >= _SINCE_LOG_DIRS:
        fields["log_dirs"] = request.log_dirs
    if version >= _SINCE_PREVIOUS_EPOCH:
        fields["previous_broker_epoch"] = request.previous_broker_epoch
    return classes.BrokerRegistrationRequest(
        broker_id=request.broker_id,
        cluster_id=request.cluster_id,
        incarnation_id=request.incarnation_id,
        listeners=tuple(
            classes.Listener(name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol)
            for each in request.listeners
        ),
        features=tuple(
            classes.Feature(name=name, min_supported_version=levels.start, max_supported_version=levels.stop - 1)
            for name, levels in request.features.items()
            if levels.start > 0 or version >= _SINCE_LEVEL_ZERO
        ),
        rack=request.rack,
        **fields,
    )


def decode_broker_registration(payload: Any) -> BrokerRegistrationResponse:
    """Read kio's BrokerRegistrationResponse."""
    return BrokerRegistrationResponse(
        error=code_of(payload.error_code),
        broker_epoch=payload.broker_epoch,
        throttle_time_ms=payload.throttle_time // timedelta(milliseconds=1),
    )
