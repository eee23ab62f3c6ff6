"""A broker's metrics of the quorum that it follows: who leads it, and how far the metadata has come."""

from pathlib import Path

from replication.testing import Cluster
from tests.replication.node.metrics.scraping import looked_at
from tests.replication.node.remote_cluster import CONTROLLER_ID, RemoteCluster

QUORUM = "kafka_server_raft_metrics"


def test_who_leads_and_how_far_the_copy_goes(tmp_path: Path) -> None:
    with RemoteCluster(tmp_path, 1) as cluster:
        node = cluster.brokers[1].node
        log = cluster.controller.controller.metadata.log
        cluster.wait_until(lambda: looked_at(node).value(f"{QUORUM}_high_watermark") == log.high_watermark > 0)
        told = looked_at(node)
        assert told.value(f"{QUORUM}_current_leader") == CONTROLLER_ID
        assert told.value(f"{QUORUM}_current_epoch") == log.epochs.latest_epoch
        assert told.value(f"{QUORUM}_log_end_epoch") == log.epochs.latest_epoch
        assert told.value(f"{QUORUM}_log_end_offset") >= told.value(f"{QUORUM}_high_watermark")
        cluster.controller.close()
        cluster.wait_until(lambda: looked_at(node).value(f"{QUORUM}_current_leader") == -1)


def test_a_broker_whose_controller_is_in_its_process_follows_none(tmp_path: Path) -> None:
    with Cluster(1, directory=tmp_path) as cluster:
        assert not [each for each in looked_at(cluster.broker(1)) if each.name.startswith(QUORUM)]
