"""A small broker for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.replication.cluster.broker.requests.small_broker import SmallBroker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[SmallBroker]:
    small = SmallBroker(tmp_path)
    yield small
    small.close()
