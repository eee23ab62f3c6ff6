"""A broker that is alone, as tests start it."""

from pathlib import Path
from typing import Any

from replication.cluster.node.broker_node_settings import BrokerNodeSettings
from replication.cluster.standalone.standalone_broker import StandaloneBroker
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings

LOOPBACK = ListenerSettings(address=Address("127.0.0.1", 0))


def alone(*roots: Path, **settings: Any) -> StandaloneBroker:
    """Start a broker on these directories, which makes topics that are asked for."""
    return StandaloneBroker.open(roots, BrokerNodeSettings(listener=LOOPBACK, auto_create_topics=True, **settings))
