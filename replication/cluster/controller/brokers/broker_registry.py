"""Which brokers there are: who may register, and in which epoch (Kafka: ClusterControlManager)."""

from collections.abc import Callable, Mapping
from typing import Final

from logstore.files.partition_metadata import format_uuid
from replication.cluster.controller.brokers import broker_changes
from replication.cluster.controller.brokers.sessions import BrokerIncarnation
from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.refusal import Refusal
from replication.records.metadata.metadata_version import METADATA_VERSION_FEATURE
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.records import Endpoint, MetadataRecord, RegisterBrokerRecord, SupportedFeature
from replication.wire.error_code import ErrorCode
from replication.wire.messages.broker_registration import BrokerRegistrationRequest

_RESERVED_DIRECTORIES: Final = 100
"""UUIDs below this number stand for no directory."""
_UNSUPPORTED: Final = range(1)
"""The levels of a feature that a broker does not name."""


def registered(cluster: ClusterState, broker_id: int, broker_epoch: int) -> BrokerRegistration:
    """Return the registration that a request of a broker refers to. Refuses with STALE_BROKER_EPOCH."""
    broker = cluster.image.brokers.get(broker_id)
    if broker is None:
        raise Refusal(ErrorCode.STALE_BROKER_EPOCH, f"No broker registration found for broker id {broker_id}")
    if broker.epoch != broker_epoch:
        raise Refusal(
            ErrorCode.STALE_BROKER_EPOCH, f"Expected broker epoch {broker.epoch}, but got broker epoch {broker_epoch}"
        )
    return broker


def register_broker(
    cluster: ClusterState,
    request: BrokerRegistrationRequest,
    *,
    cluster_id: str,
    next_offset: int,
    has_session: Callable[[BrokerIncarnation], bool],
) -> Decision[int]:
    """Register a broker, and answer its broker epoch: `next_offset`, where the log ends, for a new incarnation.

    It starts fenced. The same incarnation only changes what it said, and keeps its epoch and its state.
    """
    known = cluster.image.brokers.get(request.broker_id)
    _check_identity(request, known, cluster_id, has_session)
    if cluster.rules.directories:
        _check_directories(cluster.image.brokers, request)
    _check_features(cluster, request)
    is_same = known is not None and known.incarnation_id == request.incarnation_id
    records: list[MetadataRecord] = []
    if not is_same:
        clean = known is not None and known.epoch == request.previous_broker_epoch
        records += broker_changes.restart(cluster, request.broker_id, clean=clean)
    record = _record(cluster, request, known if is_same else None, next_offset)
    return Decision([*records, record], record.broker_epoch)


def unregister_broker(cluster: ClusterState, broker_id: int) -> Decision[None]:
    """Forget a broker that will not come back. Refuses with BROKER_ID_NOT_REGISTERED."""
    broker = cluster.image.brokers.get(broker_id)
    if broker is None:
        raise Refusal(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered")
    return Decision(broker_changes.unregister(cluster, broker), None)


def _check_identity(
    request: BrokerRegistrationRequest,
    known: BrokerRegistration | None,
    cluster_id: str,
    has_session: Callable[[BrokerIncarnation], bool],
) -> None:
    if request.cluster_id != cluster_id:
        raise Refusal(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"Expected cluster ID {cluster_id}, but got cluster ID {request.cluster_id}",
        )
    is_other = known is not None and known.incarnation_id != request.incarnation_id
    if known is not None and is_other and has_session(BrokerIncarnation(known.id, known.epoch)):
        raise Refusal(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            "Another broker is registered with that broker id. If the broker was recently restarted this should "
            "self-resolve once the heartbeat manager expires the broker's session.",
        )
    if request.is_migrating_zk_broker:
        raise Refusal(ErrorCode.BROKER_ID_NOT_REGISTERED, "Controller does not support registering ZK brokers.")
    if request.broker_id < 0:
        raise _invalid(f"Broker ID {request.broker_id} is negative, which stands for no broker")


def _check_directories(brokers: Mapping[int, BrokerRegistration], request: BrokerRegistrationRequest) -> None:
    if not request.log_dirs:
        raise _invalid("No directories specified in request")
    if any(directory.int < _RESERVED_DIRECTORIES for directory in request.log_dirs):
        raise _invalid("Reserved directory ID in request")
    if len(set(request.log_dirs)) != len(request.log_dirs):
        raise _invalid("Duplicate directory ID in request")
    owners = {
        each: other.id for other in brokers.values() if other.id != request.broker_id for each in other.directories
    }
    for directory in request.log_dirs:
        if directory in owners:
            owner = owners[directory]
            raise _invalid(f"Broker {owner} is already registered with directory {format_uuid(directory)}")


def _check_features(cluster: ClusterState, request: BrokerRegistrationRequest) -> None:
    """Refuse a broker that cannot work at the levels that are finalised."""
    finalised = {METADATA_VERSION_FEATURE: cluster.rules.metadata_version, **cluster.image.features}
    for name, levels in request.features.items():
        _check_level(name, levels, finalised.get(name, 0))
    if METADATA_VERSION_FEATURE not in request.features:
        raise _invalid(f"Request features do not contain '{METADATA_VERSION_FEATURE}'")
    for name, level in finalised.items():
        if name not in request.features:
            _check_level(name, _UNSUPPORTED, level)


def _check_level(name: str, levels: range, finalised: int) -> None:
    if finalised not in levels:
        raise Refusal(
            ErrorCode.UNSUPPORTED_VERSION,
            f"Unable to register because the broker does not support finalized version {finalised} of {name}. "
            f"The broker wants a version between {levels.start} and {levels.stop - 1}, inclusive.",
        )


def _record(
    cluster: ClusterState, request: BrokerRegistrationRequest, same: BrokerRegistration | None, next_offset: int
) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=same.epoch if same else next_offset,
        end_points=tuple(
            Endpoint(name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol)
            for each in request.listeners
        ),
        features=tuple(
            SupportedFeature(name=name, min_supported_version=levels.start, max_supported_version=levels.stop - 1)
            for name, levels in request.features.items()
        ),
        rack=request.rack,
        fenced=same.fenced if same else True,
        in_controlled_shutdown=same.in_controlled_shutdown if same else False,
        log_dirs=request.log_dirs if cluster.rules.directories else (),
    )


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REGISTRATION, message)
