"""What Spark's own accounts say of the work that a session has done."""

from typing import Any

from pyspark.sql import SparkSession


def shuffle_bytes(spark: SparkSession) -> int:
    """Return the bytes that all stages of an embedded or submitted session have written for others to read.

    Not over Spark Connect, where the accounts are the server's.
    """
    context: Any = spark.sparkContext
    gateway, jvm = context._gateway, context._jvm
    no_quantiles = gateway.new_array(jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(None, False, False, no_quantiles, jvm.java.util.ArrayList())
    return sum(stages.apply(number).shuffleWriteBytes() for number in range(stages.size()))
