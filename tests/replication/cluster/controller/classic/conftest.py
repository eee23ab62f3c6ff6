import pytest

from tests.replication.cluster.controller.classic.cluster import ClassicCluster


@pytest.fixture
def cluster() -> ClassicCluster:
    """The topic t of two partitions, led by 1 and by 2."""
    cluster = ClassicCluster()
    cluster.begin()
    cluster.topic("t", [1, 2, 3], [2, 3, 1])
    del cluster.sent[:], cluster.changes[:], cluster.journal[:]
    return cluster
