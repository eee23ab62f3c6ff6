"""Has Spark do what audits and reads of logs do, and keeps the classes that Java loads for it."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from replication.copies.audit.spark.auditing import audit
from replication.copies.audit.spark.sessions.class_archive import find_archive, keep_archive
from replication.copies.audit.spark.sessions.gateway import end_java
from replication.copies.audit.spark.sessions.java import find_java
from replication.copies.audit.spark.sessions.session import prepare_session, session_for_a_while


def make_archive(snapshots: Sequence[Path]) -> Path:
    """Return the archive from which sessions start: the one that is there, or one of an audit of these snapshots.

    They may be small. Spark must not have been started in this process. Raises JavaMissingError, NoClassArchiveError
    and OSError.
    """
    java = find_java()
    return find_archive(java) or keep_archive(java, partial(_use_spark, snapshots))


def _use_spark(snapshots: Sequence[Path], java_options: Sequence[str]) -> None:
    with session_for_a_while(java_options=java_options) as spark:
        with audit(spark, snapshots) as audited:
            audited.document  # noqa: B018  it is made when it is asked for
        prepare_session(spark)
        spark.read.format("kafka-log").load(str(snapshots[0])).groupBy("topic").count().collect()
    end_java()
