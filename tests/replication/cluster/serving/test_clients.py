"""Real clients read what real brokers left: the same records as the copies hold, by each client, committed or all."""

import pytest

from tests.replication.cluster.serving.clients import READERS
from tests.replication.cluster.serving.served_set import Served


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "all"])
@pytest.mark.parametrize("client", READERS)
def test_each_client_reads_what_the_leaders_copies_hold(served: Served, client: str, committed: bool) -> None:
    seen = READERS[client](served.bootstrap, served.partitions, committed)
    assert served.partitions
    for partition in served.partitions:
        assert seen[partition] == served.truth(partition, committed), partition
