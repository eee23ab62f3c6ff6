"""Golden sets that are served while the tests of a file run, and Kafka's own clients in Java."""

from collections.abc import Iterator

import pytest

from tests.data.replicas import IN_TURN, LABELS
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.serving.served_set import Served


@pytest.fixture(scope="module", params=LABELS)
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    """Each golden set."""
    with Served.open(request.param) as opened:
        yield opened


@pytest.fixture(scope="module", params=IN_TURN)
def in_turn(request: pytest.FixtureRequest) -> Iterator[Served]:
    """The golden set whose turn it is; each where all campaigns are full."""
    with Served.open(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def java(release: KafkaRelease) -> Iterator[JavaProgram]:
    """The client in Java, for all sets."""
    with JavaProgram(release, "BrokerClient", "localhost:1") as client:
        yield client
