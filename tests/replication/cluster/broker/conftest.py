from collections.abc import Iterator

import pytest

from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.broker.member import SESSION_MS


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[KafkaCluster]:
    """A controller and one broker of Kafka's."""
    directory = tmp_path_factory.mktemp("cluster")
    with KafkaCluster(directory, release, controller_settings={"broker.session.timeout.ms": SESSION_MS}) as cluster:
        yield cluster
