"""How the jobs of an audit are described, how far they are, and that an interrupt ends them without noise."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

from replication.audit import audit
from tests.conftest import require_java_for_spark
from tests.data.replicas import replicas

LONGEST = 120
"""Seconds that the interrupted program may take to end."""
PROGRAM = """
import os, sys, time
from replication.audit import audit, start_session
from replication.copies.audit.spark import examine_job

def slow(tasks, new_examiner, marker=sys.argv[2]):
    def examine(numbers):
        open(marker, "w").close()
        time.sleep(60)
        yield from ()
    return examine

spark = start_session("local[2]")
examine_job.examining = slow
try:
    audit(spark, [sys.argv[1]]).document
except KeyboardInterrupt:
    while spark.sparkContext.statusTracker().getActiveJobsIds():
        time.sleep(0.05)
    print("interrupted, and nothing is at work")
    sys.stdout.flush()
    os.close(2)  # what Spark says of its own end
    spark.stop()
"""


def descriptions(spark: SparkSession) -> list[str]:
    """What Spark's pages say of the session's jobs."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = (jobs.apply(number).description() for number in range(jobs.size()))
    return [each.get() if each.isDefined() else "" for each in found]


def test_the_jobs_of_an_audit_are_described_and_counted(spark: SparkSession) -> None:
    told: list[int] = []
    with audit(spark, [replicas("diverged")], task_bytes=1 << 20, progress=told.append) as audited:
        assert audited.document["partitions"]
        tasks = len(audited.plan.tasks)
        assert sum(told) == audited.bytes
    spark.range(3).count()
    found = descriptions(spark)
    assert f"examine broker-1, broker-2, broker-3 in {tasks} tasks, and judge" in found
    assert "collect what was found in broker-1, broker-2, broker-3" in found
    assert found[0] == "", "the latest job is not the audit's"


def test_an_interrupt_ends_the_jobs_and_says_nothing_else(tmp_path: Path) -> None:
    require_java_for_spark()
    marker = tmp_path / "started"
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(replicas("diverged")), str(marker)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as audit_program:
        while not marker.exists() and audit_program.poll() is None:
            time.sleep(0.01)
        audit_program.send_signal(signal.SIGINT)
        out, err = audit_program.communicate(timeout=LONGEST)
    assert out == "interrupted, and nothing is at work\n", err
    assert err == ""
    assert audit_program.returncode == 0
