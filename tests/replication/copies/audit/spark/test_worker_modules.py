"""What Spark's Python workers have loaded is taken out of their collections of garbage, once."""

import gc
from collections.abc import Iterable, Iterator

import pytest
from pyspark.sql import SparkSession

from replication.copies.audit.spark.worker_modules import IS_WORKER, WorkerModules, keep_modules


@pytest.fixture(autouse=True)
def _unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_what_is_loaded_is_kept_once() -> None:
    modules = WorkerModules()
    before = gc.get_freeze_count()
    modules.keep()
    kept = gc.get_freeze_count()
    assert kept > before
    made_since = [[number] for number in range(1_000)]
    modules.keep()
    assert gc.get_freeze_count() <= kept
    assert len(made_since) == 1_000


def test_other_processes_are_left_alone() -> None:
    before = gc.get_freeze_count()
    keep_modules()
    assert gc.get_freeze_count() == before
    assert not IS_WORKER


def test_a_worker_of_spark_is_known_as_one(spark: SparkSession) -> None:
    def is_worker(numbers: Iterable[int]) -> Iterator[bool]:
        from replication.copies.audit.spark.worker_modules import IS_WORKER

        return (IS_WORKER for _ in numbers)

    assert spark.sparkContext.parallelize([0], 1).mapPartitions(is_worker).collect() == [True]
