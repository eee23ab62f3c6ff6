"""Starts Spark, embedded by default, and prepares existing sessions for audits."""

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from replication.copies.audit.snapshots.arguments import master_in
from replication.copies.audit.spark.sessions.class_archive import archive_options
from replication.copies.audit.spark.sessions.gateway import MUTED, start_context
from replication.copies.audit.spark.sessions.java import find_java
from replication.copies.audit.spark.sessions.shipping import ship_packages

APP_NAME: Final = "epochlog audit"
EMBEDDED: Final = "local[*,4]"
"""All cores of this machine; a task that fails is tried four times, as on a cluster."""
_PREPARED: Final = "spark.epochlog.prepared"
_SENT: Final = "spark.epochlog.sent"
_SETTINGS: Final = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
}
_LOGGING: Final = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}"
_LOOPBACK: Final = "127.0.0.1"
_EMBEDDED_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.host": _LOOPBACK,
    "spark.driver.bindAddress": _LOOPBACK,
}
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_BRIEF: Final = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
"""The first compiler alone starts Spark in less time; rows by the million pass through Java at half the pace. It has
little room for its code by default, and says so on the output once that is full."""


def start_session(master: str | None = None, *, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark, or use the existing session, and prepare it for audits.

    `master` is Spark's: `local[2]`, `spark://host:7077`, `yarn`, or `sc://host` for Spark Connect. Without it Spark is
    embedded in this process, with all cores, unless `spark-submit` has named a master. `settings` are Spark's, and go
    before ours. Raises JavaMissingError, and NotAllowedError for an invalid master.

    >>> spark = start_session()
    >>> spark.read.format("kafka-log").load("/var/lib/kafka/data").count()
    """
    spark = _started(master, settings or {})
    prepare_session(spark)
    return spark


@contextmanager
def session_for_a_while(
    master: str | None = None, *, java_options: Sequence[str] | None = None
) -> Iterator[SparkSession]:
    """Start Spark for an audit, and stop it at the end, unless it was there before.

    Java starts from an archive of its classes where there is one, or with `java_options` in place of that. `kafka-log`
    is not made known: Spark takes a second to look for all data sources, which few audits need.
    """
    # The active session is the thread's: one that was started in another thread is not ours either.
    is_ours = SparkSession.getActiveSession() is None and SparkContext._active_spark_context is None  # noqa: SLF001
    spark = _started(master, {}, _BRIEF, java_options)
    try:
        yield spark
    except KeyboardInterrupt:
        if is_ours:
            MUTED.set()
        raise
    finally:
        if is_ours:
            with suppress(Py4JError):  # where an interrupt has ended Java already
                spark.stop()


def _started(
    master: str | None,
    settings: Mapping[str, str],
    compiler: Sequence[str] = (),
    archive: Sequence[str] | None = None,
) -> SparkSession:
    # Otherwise Spark starts whatever is called python3, which may lack all that is installed here.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    master = master_in(master)
    builder = SparkSession.builder.appName(APP_NAME)
    chosen: dict[str, Any] = {**_SETTINGS, **_settings_of(master), **settings}
    if master is not None and master.startswith("sc://"):
        builder = builder.remote(master)
    else:
        java = find_java()
        os.environ["JAVA_HOME"] = str(java)
        if _is_embedded(master):
            # Spark asks for this machine's address by its name, which a container without network does not know.
            os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
            archived = archive_options(java) if archive is None else archive
            chosen.setdefault(_JAVA_OPTIONS, shlex.join([*compiler, _LOGGING, *archived]))
        start_context(SparkConf().setAppName(APP_NAME).setAll(list(chosen.items())))
    return builder.config(map=chosen).getOrCreate()


def _settings_of(master: str | None) -> dict[str, str]:
    """Choose Spark's settings for where it runs: nothing where a server, or `spark-submit`, knows."""
    if master is None:
        return {} if "PYSPARK_GATEWAY_PORT" in os.environ else {"spark.master": EMBEDDED, **_EMBEDDED_SETTINGS}
    if master.startswith("sc://"):
        return {}
    return {"spark.master": master, **(_EMBEDDED_SETTINGS if is_local(master) else {})}


def _is_embedded(master: str | None) -> bool:
    """Return whether Java is started here, and runs the tasks too."""
    return _EMBEDDED_SETTINGS.items() <= _settings_of(master).items()


def prepare_session(spark: SparkSession) -> None:
    """Register `kafka-log` in a session, once, and send these packages to executors on other machines."""
    from replication.copies.audit.spark.source.data_source import register  # noqa: PLC0415  it imports pyarrow, which a session does not need

    if spark.conf.get(_PREPARED, "") == "true":
        return
    send_packages(spark)
    register(spark)
    spark.conf.set(_PREPARED, "true")


def send_packages(spark: SparkSession) -> None:
    """Send these packages to executors on other machines, once."""
    if spark.conf.get(_SENT, "") == "true":
        return
    if is_connected(spark) or not is_local(spark.conf.get("spark.master", "") or ""):
        ship_packages(spark)
    spark.conf.set(_SENT, "true")


def is_connected(spark: SparkSession) -> bool:
    """Return whether a session is a client's of Spark Connect, whose server may have another Python."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def is_local(master: str) -> bool:
    """Return whether tasks run on this machine and in its Python: `local[*]`, but not `local-cluster[2,1,1024]`.

    >>> is_local("local[4]"), is_local("local-cluster[2,1,1024]")
    (True, False)
    """
    return master == "local" or master.startswith("local[")
