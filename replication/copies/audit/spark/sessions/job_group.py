"""The jobs of one audit among all of a session's: how Spark's pages describe them, and what an interrupt ends."""

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from replication.copies.audit.spark.sessions.session import is_connected

_PROPERTIES: Final = ("spark.jobGroup.id", "spark.job.description")
_LOGGED: Final = {
    "": ("KeyboardInterrupt while sending command", "Exception while sending command"),
    "py4j.clientserver": ("Exception occurred while shutting down connection",),
}
"""What py4j logs, by logger and with a traceback, of calls to Java that are interrupted, and of the next."""
_MESSAGES: Final = tuple(message for messages in _LOGGED.values() for message in messages)
_ATTEMPTS: Final = 3


@contextmanager
def described(spark: SparkSession, group: str, description: str) -> Iterator[None]:
    """Put the jobs that this thread starts into a group, and describe them.

    Over Spark Connect, which has no descriptions, the group is a tag.
    """
    if is_connected(spark):
        spark.addTag(group)
        try:
            yield
        finally:
            spark.removeTag(group)
        return
    context = spark.sparkContext
    before = {name: context.getLocalProperty(name) for name in _PROPERTIES}
    context.setJobGroup(group, description)
    try:
        yield
    finally:
        with suppress(Py4JError, OSError):  # where an interrupt has ended Java
            for name, value in before.items():
                context.setLocalProperty(name, value)  # type: ignore[arg-type]  # None removes it


@contextmanager
def quiet_interrupts(spark: SparkSession, group: str) -> Iterator[None]:
    """Raise KeyboardInterrupt on an interrupt, and end the jobs of a group.

    Spark's own handler calls Java in the midst of the call that is interrupted, and both log their tracebacks. In
    other threads than the main one, and over Spark Connect, which has no Java here, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread() or is_connected(spark):
        yield
        return

    came: list[int] = []

    def interrupt(number: int, _frame: object) -> NoReturn:
        came.append(number)
        raise KeyboardInterrupt

    def is_other(record: logging.LogRecord) -> bool:
        return not came or not record.getMessage().startswith(_MESSAGES)

    before = signal.signal(signal.SIGINT, interrupt)
    for name in _LOGGED:
        logging.getLogger(name).addFilter(is_other)
    try:
        yield
    except (KeyboardInterrupt, Py4JError, OSError):
        if not came:
            raise
        _cancel(spark, group)
        raise KeyboardInterrupt from None
    finally:
        for name in _LOGGED:
            logging.getLogger(name).removeFilter(is_other)
        signal.signal(signal.SIGINT, before)


def _cancel(spark: SparkSession, group: str) -> None:
    """End the jobs of a group; where an interrupt has ended Java too, there are none.

    py4j has Java close the socket of the call that was interrupted, and at times the next one goes with it.
    """
    for _ in range(_ATTEMPTS):
        with suppress(Py4JError, OSError):
            spark.sparkContext.cancelJobGroup(group)
            return
