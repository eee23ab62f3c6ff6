"""What the tests of logstore/ share."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest

from logstore.batch.decoding.plain_records import PLAIN_RECORDS
from logstore.indexes import live_index
from logstore.segment import segment_reader
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease


@pytest.fixture(scope="session", autouse=True)
def _compiled_reads() -> Iterator[None]:
    """Let segments be read, searched and decoded in both ways, of which the faster one begins after many times."""
    with (
        patch.object(segment_reader, "MANY_READS", 2),
        patch.object(live_index, "MANY_LOOKUPS", 2),
        patch.object(PLAIN_RECORDS, "records_left", 100),
    ):
        yield


@pytest.fixture(scope="session")
def log_oracle(release: KafkaRelease) -> Iterator[JavaProgram]:
    """Kafka's UnifiedLog and LogLoader."""
    with JavaProgram(release, "LogOracle") as oracle:
        yield oracle
