"""What the tests of epoch/ share."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease


@pytest.fixture(scope="session")
def quick_dir() -> Iterator[Path]:
    """A directory in memory where there is one: thousands of synced writes take their time on a disk."""
    memory = "/dev/shm"  # noqa: S108 - only the place; the name below it is fresh
    with TemporaryDirectory(prefix="epochlog-", dir=memory if os.access(memory, os.W_OK) else None) as directory:
        yield Path(directory)


@pytest.fixture
def restless_threads() -> Iterator[None]:
    """Let threads take turns often."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture(scope="session")
def epoch_oracle(quick_dir: Path, release: KafkaRelease) -> Iterator[JavaProgram]:
    """Kafka's LeaderEpochFileCache."""
    with JavaProgram(release, "EpochOracle", quick_dir / "kafka") as oracle:
        yield oracle
