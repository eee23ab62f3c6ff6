"""What a controller is asked before a broker changes anything, and what that leaves behind."""

from pathlib import Path
from uuid import uuid4

import pytest

from replication.base.stop_request import StopRequest
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.lifecycle.errors import NoControllerError
from replication.cluster.node.joining.controller_probe import ensure_answers
from replication.wire.client.client_settings import ClientSettings
from replication.wire.messages.describe_quorum import DescribeQuorumRequest
from tests.replication.cluster.broker.member import SECONDS
from tests.replication.cluster.node.remote_cluster import RemoteCluster
from tests.replication.cluster.standalone.quorum.led import CLUSTER, Led


def test_a_controller_that_is_asked_takes_the_broker_for_no_observer_at_the_beginning(tmp_path: Path) -> None:
    led = Led(tmp_path)
    try:
        identity = BrokerIdentity(cluster_id=CLUSTER, broker_id=9, directory_ids=(uuid4(),))
        ensure_answers([led.address], identity, ClientSettings(), SECONDS, StopRequest())
        assert led.ask(DescribeQuorumRequest()).observers == ()
    finally:
        led.close()


def test_a_leader_whose_first_answer_tells_its_epoch_is_no_trouble(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    led = Led(tmp_path)
    led.restart()  # so that its epoch is none that can be guessed
    try:
        identity = BrokerIdentity(cluster_id=CLUSTER, broker_id=9, directory_ids=(uuid4(),))
        ensure_answers([led.address], identity, ClientSettings(), SECONDS, StopRequest())
        assert "event=trouble" not in caplog.text
    finally:
        led.close()


def test_a_brokers_listener_is_told_from_a_controllers(tmp_path: Path) -> None:
    with RemoteCluster(tmp_path, 1) as cluster:
        broker = cluster.brokers[1].node
        told = f"{broker.address}: the metadata of cluster {broker.identity.cluster_id} is refused: .*broker's listener"
        with pytest.raises(NoControllerError, match=told):
            ensure_answers([broker.address], broker.identity, ClientSettings(), 0, StopRequest())
