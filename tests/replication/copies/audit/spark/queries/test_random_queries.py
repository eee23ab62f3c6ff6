"""Queries give what pandas gives over what `epochlog dump --records --json` prints of the same logs."""

import random
import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from tests.campaign import Campaign
from tests.replication.copies.audit.spark.queries.random_queries import RandomQueries

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
OF_ONE_LOG = 8
"""Queries of the same logs."""


def test_random_queries_give_what_pandas_gives(spark: SparkSession, tmp_path: Path) -> None:
    campaign = Campaign("spark: random queries of random logs", full=10_000, share=16)
    before = spark.conf.get(PUSHDOWN)
    rows = 0
    try:
        for number in range(campaign.count // OF_ONE_LOG):
            pushes = number % 2 == 0
            spark.conf.set(PUSHDOWN, str(pushes).lower())
            queries = RandomQueries(spark, tmp_path / "logs", random.Random(campaign.seed * 10_000 + number), pushes)
            queries.run(OF_ONE_LOG)
            rows += queries.rows
            shutil.rmtree(tmp_path / "logs")
    finally:
        spark.conf.set(PUSHDOWN, before)
    campaign.report(campaign.count, f"{rows:,} rows compared")
