"""What a broker's process is told as it starts."""

import json
from pathlib import Path

from replication.testing.links import Links
from replication.testing.node_settings import NodeSettings
from replication.testing.process_settings import ProcessSettings
from replication.wire.addresses import Address


def test_settings_are_the_same_in_the_process() -> None:
    links = Links()
    links.cut(1, 2)
    settings = ProcessSettings(
        broker_id=1,
        root=Path("/data/broker-1"),
        journal=Path("/data/broker-1.flushed"),
        address=Address("127.0.0.1", 20_001),
        controller=Address("127.0.0.1", 20_000),
        parent=17,
        node=NodeSettings(lag_ms=1_000, heartbeat_ms=250, topic_defaults={"retention.ms": "5"}, rebalance_delay_ms=7),
        links=links.state,
    )
    assert ProcessSettings.from_json(json.loads(json.dumps(settings.as_json()))) == settings
