"""Sessions of Spark, as audits start them."""

import signal
from collections.abc import Iterator
from unittest.mock import Mock

import pytest
from pyspark.sql import SparkSession

from replication.audit import start_session


@pytest.fixture
def _signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_signals")
def test_the_callers_own_handler_of_interrupts_stays(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def started() -> SparkSession:
        signal.signal(signal.SIGINT, lambda *_: None)  # as Spark does when it starts
        return spark

    starting = Mock()
    starting.builder.appName.return_value.config.return_value.getOrCreate = started
    monkeypatch.setattr("replication.audit.session.SparkSession", starting)
    callers = Mock()
    signal.signal(signal.SIGINT, callers)

    start_session()

    assert signal.getsignal(signal.SIGINT) is callers
