"""Queries of one DataFrame, or of several, give their rows whatever was asked before, and in any order."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.campaign import Campaign
from tests.data.replicas import PROJECT
from tests.replication.copies.audit.uses import Uses, write_logs

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def test_random_uses_give_what_pandas_gives(spark: SparkSession, tmp_path: Path) -> None:
    campaign = Campaign("spark: random uses of logs", full=100, share=2)
    write_logs(tmp_path)
    seen = 0
    before = spark.conf.get(PUSHDOWN)
    try:
        for number in range(campaign.count):
            spark.conf.set(PUSHDOWN, str(number % 2 == 0).lower())
            seen += Uses(spark, tmp_path, random.Random(campaign.seed * 1_000 + number)).run()
    finally:
        spark.conf.set(PUSHDOWN, before)
    campaign.report(campaign.count, f"{seen:,} results compared")


@pytest.mark.usefixtures("_java")
def test_random_uses_over_spark_connect_do_too(tmp_path: Path) -> None:
    campaign = Campaign("spark: random uses of logs over Spark Connect", full=5, share=1)
    write_logs(tmp_path)
    for number in range(campaign.count):
        command = [sys.executable, "-m", "tests.replication.copies.audit.uses", "local[2]", str(campaign.seed + number)]
        done = subprocess.run(
            [*command, str(tmp_path)],
            cwd=PROJECT,
            # With SPARK_TESTING the server asks the system for its port, instead of taking the same one always.
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_TESTING": "1"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-5000:]
    campaign.report(campaign.count)
