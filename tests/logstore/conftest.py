"""What the tests of logstore/ share."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
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
def memory_dir() -> Iterator[Path]:
    """A directory in memory where there is one: thousands of synced writes take their time on a disk."""
    memory = "/dev/shm"  # noqa: S108 - only the place; the name below it is fresh
    with TemporaryDirectory(prefix="epochlog-", dir=memory if os.access(memory, os.W_OK) else None) as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
def log_oracle(release: KafkaRelease) -> Iterator[JavaProgram]:
    """Kafka's UnifiedLog and LogLoader."""
    with JavaProgram(release, "LogOracle") as oracle:
        yield oracle
