"""The copies that are audited and read wherever Spark runs, and what that has to give."""

from pathlib import Path

import pytest

from tests.data.replicas import damaged, replicas
from tests.replication.copies.audit.spark.expected_results import expected
from tests.replication.copies.audit.spark.results import Results


@pytest.fixture(scope="session")
def damaged_copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies with one corrupt batch: of txns-0 of broker-2, at position 14942."""
    place = tmp_path_factory.mktemp("damaged")
    damaged("record_bitflip", place)
    return place


@pytest.fixture(scope="session")
def expected_results(damaged_copies: Path) -> Results:
    return expected(replicas("diverged"), damaged_copies)
