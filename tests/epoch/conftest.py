"""What the tests of epoch/ share."""

from collections.abc import Iterator

import pytest

from tests.oracle.kafka import JavaProgram


@pytest.fixture(scope="session")
def epoch_oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProgram]:
    """Kafka's LeaderEpochFileCache."""
    with JavaProgram("EpochOracle", tmp_path_factory.mktemp("epoch-oracle")) as oracle:
        yield oracle
