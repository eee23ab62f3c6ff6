"""Three brokers and their controller for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.replication.cluster.standalone.requests.small_standalone import SmallStandalone


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SmallStandalone]:
    cluster = SmallStandalone(tmp_path, brokers=3)
    yield cluster
    cluster.close()
