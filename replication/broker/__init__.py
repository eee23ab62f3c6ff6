"""What a broker is, and its life from registration to controlled shutdown; it follows no partitions (KIP-631)."""

from replication.broker.broker_identity import BrokerIdentity
from replication.broker.broker_settings import BrokerSettings
from replication.broker.errors import InconsistentDirectoriesError
from replication.broker.lifecycle.broker_agent import BrokerAgent
from replication.broker.lifecycle.errors import (
    BrokerStoppedError,
    NoControllerError,
    NotInTimeError,
    RefusedByControllerError,
)
from replication.broker.lifecycle.lifecycle import BrokerState
from replication.broker.lifecycle.lifecycle_observer import LifecycleObserver
from replication.protocol.messages.broker_registration import Listener, SecurityProtocol
from replication.quorum.errors import MetadataDivergedError
from replication.quorum.metadata_follower import MetadataFollower

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
