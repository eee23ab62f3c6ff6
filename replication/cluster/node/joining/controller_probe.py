"""Whether a cluster's controller answers a broker, asked before the broker changes anything."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Final

from replication.base.errors import ReplicationError
from replication.base.stop_request import StopRequest, StopRequestedError
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.broker_settings import SUPPORTED_FEATURES
from replication.cluster.broker.events.trouble import Trouble
from replication.cluster.broker.events.trouble_events import TroubleKind
from replication.cluster.broker.lifecycle.errors import NoControllerError, UnsupportedFeaturesError
from replication.cluster.quorum.errors import MetadataRefusedError
from replication.cluster.quorum.followed_metadata import FollowedMetadata
from replication.cluster.quorum.quorum_decisions import OtherLeader
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.client.deadline import Deadline
from replication.wire.error_code import ErrorCode
from replication.wire.errors import KafkaError
from replication.wire.messages.api_versions import ApiVersionsRequest
from replication.wire.messages.replica_id import CONSUMER

_TIMEOUT_MS: Final = 2_000
_PAUSE_SECONDS: Final = 0.2
_NOBODY: Final = -1
"""The id of a leader that is not known."""
_WHO_ASKS: Final = ApiVersionsRequest(
    client_software_name="epochlog", client_software_version="broker", asked_in=range(3, 4)
)
"""In the first version that has features, which all controllers know."""


def ensure_answers(
    controllers: Sequence[Address],
    identity: BrokerIdentity,
    settings: ClientSettings,
    seconds: float,
    stop: StopRequest,
) -> None:
    """Return once the active controller of the broker's cluster has answered, asked as one that knows no metadata.

    That it has to be waited for is reported, once.

    Raises MetadataRefusedError where it leads another cluster, UnsupportedFeaturesError where that works at levels of
    features that a broker of ours does not know, NoControllerError where none has answered in time, StopRequestedError,
    and OSError where there is no room for a temporary directory.
    """
    quick = settings.within(_TIMEOUT_MS)
    waiting = Trouble(TroubleKind.CONTROLLER)
    deadline, others, address = Deadline(seconds), cycle(controllers), controllers[0]
    # As nobody's replica: a controller would take the broker's for one that has fallen back to the beginning.
    with FollowedMetadata.open(CONSUMER, identity.cluster_id) as followed:
        while True:
            trouble: str | None = None
            try:
                other = _asked(followed, address, quick, identity.cluster_id)
                if other is None:
                    waiting.end()
                    return
                if other.leader_id == _NOBODY:
                    trouble = f"{address}: the quorum has no known leader"
                address = other.address or next(others)
            except UnsupportedFeaturesError:
                raise
            except (ReplicationError, OSError) as error:
                if isinstance(error, MetadataRefusedError) and error.code is ErrorCode.INCONSISTENT_CLUSTER_ID:
                    raise
                trouble, address = str(error), next(others)
            failure = NoControllerError(trouble or f"{address}: it was not asked in time")
            if deadline.left() <= 0:
                raise failure
            if trouble is not None:
                waiting.begin(str(failure))
            if stop.wait(_PAUSE_SECONDS):
                raise StopRequestedError


def _asked(
    followed: FollowedMetadata, address: Address, settings: ClientSettings, cluster_id: str
) -> OtherLeader | None:
    """Return who leads instead, or in which epoch; None where the active controller has answered.

    The first answer of a leader has its epoch, which nobody knows before. Raises MetadataRefusedError and
    UnsupportedFeaturesError too.
    """
    with Connection.open(address, settings) as connection:
        connection.send(followed.request())
        _, answer = connection.receive()
        try:
            other = followed.take(answer)
        except KafkaError as error:
            raise MetadataRefusedError(error.code, address, cluster_id) from error
        if other is None:
            _ensure_known(connection.ask(_WHO_ASKS).finalized_features, address)
    return other


def _ensure_known(finalized: Mapping[str, range], controller: Address) -> None:
    """Raise UnsupportedFeaturesError unless a broker of ours would be registered with these levels."""
    levels = {name: levels.stop - 1 for name, levels in finalized.items() if levels.stop > 1}
    unknown = {name: level for name, level in levels.items() if level not in SUPPORTED_FEATURES.get(name, ())}
    if unknown:
        raise UnsupportedFeaturesError(controller, unknown, SUPPORTED_FEATURES)
