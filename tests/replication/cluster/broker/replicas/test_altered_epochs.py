"""A follower whose history of epochs claims what no leader has written comes back, and says what was wrong."""

import logging
from pathlib import Path

import pytest

from replication.testing import Cluster
from tests.replication.cluster.standalone.clients import produce


@pytest.mark.parametrize("epoch", [1, 7])
def test_a_replica_with_a_later_epoch_than_any_leader_had_rejoins(
    tmp_path: Path, epoch: int, caplog: pytest.LogCaptureFixture
) -> None:
    with Cluster(2, directory=tmp_path) as cluster:
        cluster.create_topic("orders", replicas=[[1, 2]])
        assert not produce(cluster.bootstrap, "orders", [b"one", b"two"])
        cluster.wait_for_isr("orders", size=2)
        cluster.stop(2)
        assert not produce(cluster.bootstrap, "orders", [b"three"])
        checkpoint = cluster.root(2) / "orders-0" / "leader-epoch-checkpoint"
        assert checkpoint.read_text() == "0\n1\n0 0\n"
        checkpoint.write_text(f"0\n1\n{epoch} 0\n")
        with caplog.at_level(logging.WARNING, logger="logstore"):
            cluster.start(2)
            cluster.wait_for_isr("orders", size=2)
        assert f"epoch {epoch} wrote offset" in caplog.text
        cluster.wait_until(lambda: cluster.log(2, "orders").log_end_offset == 3, "it has what it missed")
        assert checkpoint.read_text() == "0\n1\n0 0\n"
