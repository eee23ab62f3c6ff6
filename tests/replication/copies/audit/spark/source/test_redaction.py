"""Spark's event log and web interface show nobody the keys that the address of a table has."""

from pathlib import Path

from pyspark.sql import SparkSession

from tests.replication.copies.audit.snapshot_roots import batches, write_root

KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMIK7MDENG"


def test_a_view_over_an_address_with_keys(spark: SparkSession, tmp_path: Path) -> None:
    write_root(tmp_path / "broker-1", {"t-0": batches(2)}, node=1)
    address = f"file://{KEY}:{SECRET}@{tmp_path / 'broker-1'}"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW of_keys USING `kafka-log` OPTIONS (path '{address}')")
    try:
        assert spark.sql("SELECT count(*) FROM of_keys").collect()[0][0] == 2
        told = str(spark.sql("EXPLAIN EXTENDED SELECT * FROM of_keys").collect())
    finally:
        spark.catalog.dropTempView("of_keys")
    shared = spark._jsparkSession.sharedState()
    executions = shared.statusStore().executionsList()
    for number in range(executions.size()):
        execution = executions.apply(number)
        told += f"{execution.description()} {execution.details()} {execution.physicalPlanDescription()}"
        told += str(shared.statusStore().planGraph(execution.executionId()).allNodes())
    assert "of_keys" in told
    assert KEY not in told
    assert SECRET not in told
