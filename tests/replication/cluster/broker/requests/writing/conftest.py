"""A broker that leads, for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.replication.cluster.broker.requests.writing.leading import WritingBroker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[WritingBroker]:
    leading = WritingBroker(tmp_path)
    yield leading
    leading.close()
