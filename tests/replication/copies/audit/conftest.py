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
    """The session of all tests of a worker. Who starts one beside it has the same, and must not stop it."""
    session = start_session("local[2,4]", settings={"spark.sql.shuffle.partitions": "4"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session.sparkContext, "stop", lambda: pytest.fail("Spark was stopped, and other tests need it"))
        yield session
    session.stop()
