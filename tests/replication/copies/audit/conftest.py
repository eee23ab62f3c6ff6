"""One embedded Spark for all tests of the audit: it takes seconds to start."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from replication.audit import start_session
from tests.conftest import require_java_for_spark


@pytest.fixture(scope="session")
def _java() -> None:
    """Skip where there is no Java that Spark runs on."""
    require_java_for_spark()


@pytest.fixture(scope="session")
def spark(_java: None) -> Iterator[SparkSession]:
    session = start_session("local[2,4]", settings={"spark.sql.shuffle.partitions": "4"})
    yield session
    session.stop()
