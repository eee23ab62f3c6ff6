"""What a broker is, and its life from registration to controlled shutdown; it follows no partitions (KIP-631)."""

from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.broker_settings import BrokerSettings
from replication.cluster.broker.errors import InconsistentDirectoriesError
from replication.cluster.broker.lifecycle.broker_agent import BrokerAgent
from replication.cluster.broker.lifecycle.errors import (
    BrokerStoppedError,
    NoControllerError,
    NotInTimeError,
    RefusedByControllerError,
)
from replication.cluster.broker.lifecycle.lifecycle import BrokerState
from replication.cluster.broker.lifecycle.lifecycle_observer import LifecycleObserver
from replication.cluster.quorum.errors import MetadataDivergedError
from replication.cluster.quorum.metadata_follower import MetadataFollower
from replication.wire.messages.broker_registration import Listener, SecurityProtocol

__all__ = [
    "BrokerAgent",
    "BrokerIdentity",
    "BrokerSettings",
    "BrokerState",
    "BrokerStoppedError",
    "InconsistentDirectoriesError",
    "LifecycleObserver",
    "Listener",
    "MetadataDivergedError",
    "MetadataFollower",
    "NoControllerError",
    "NotInTimeError",
    "RefusedByControllerError",
    "SecurityProtocol",
]
