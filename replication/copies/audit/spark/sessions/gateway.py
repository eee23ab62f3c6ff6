"""Starts the Java that Spark runs in, so that it ends with this process and is quiet about what is of no matter."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

NEEDLESS: Final = b"WARNING: Using incubator modules"
"""What Java says whenever it starts with the modules that Spark wants."""
LAST_WORDS_SECONDS: Final = 2
MUTED: Final = threading.Event()
"""Set when Java's errors are of no matter any more: its tasks were interrupted, and it is about to end."""


def start_context(conf: SparkConf) -> None:
    """Start Java and Spark in it, unless they are there. An interrupt ends both, once Java is reached."""
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:  # noqa: SLF001  Spark has no other way to say so
        _launch(conf)
    with _callers_interrupts():
        SparkContext.getOrCreate(conf)


def end_java() -> None:
    """End the Java that this process has started, whose Spark has been stopped, and wait until it is gone."""
    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None  # noqa: SLF001  as above
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.communicate()  # the end of its input is what it waits for


def _launch(conf: SparkConf) -> None:
    MUTED.clear()
    reader, writer = os.pipe()
    relay = threading.Thread(target=_relay, args=(reader,), daemon=True)
    relay.start()
    try:
        with open(writer, "wb") as errors, _later_interrupts():
            gateway = launch_gateway(conf, {"stderr": errors})  # type: ignore[no-untyped-call]  # Spark's own
    except PySparkRuntimeError:
        relay.join(LAST_WORDS_SECONDS)  # Java says itself why it did not start
        raise
    SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001  as above


def _relay(reader: int) -> None:
    """Pass on what Java, and what it starts, write on their error stream."""
    with open(reader, "rb") as lines:
        for line in lines:
            if not line.startswith(NEEDLESS) and not MUTED.is_set():
                os.write(2, line)


@contextmanager
def _later_interrupts() -> Iterator[None]:
    """Delay interrupts: Java, until it knows what process started it, would otherwise run forever."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        for number in came[:1]:
            signal.raise_signal(number)


@contextmanager
def _callers_interrupts() -> Iterator[None]:
    """Keep the caller's own handler of interrupts, in whose place Spark puts its."""
    before = signal.getsignal(signal.SIGINT)
    yield
    is_own = callable(before) and before is not signal.default_int_handler
    if is_own and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)
