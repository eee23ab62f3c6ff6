"""How Java is started: what it says is passed on, and interrupts end it too."""

import signal
from collections.abc import Callable, Iterator
from typing import Any, NoReturn
from unittest.mock import Mock

import pytest
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError

from replication.copies.audit.spark.sessions import gateway

Launch = Callable[[SparkConf, dict[str, Any]], object]
WARNING = b"WARNING: Using incubator modules: jdk.incubator.vector\n"


@pytest.fixture
def handler() -> Iterator[Mock]:
    """The caller's own handler of interrupts, installed."""
    callers = Mock()
    before = signal.signal(signal.SIGINT, callers)
    yield callers
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def start_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[Launch], Mock]:
    """Start Java by the function that is given, and return the stand-in for Spark's class."""

    def start(launch: Launch) -> Mock:
        context = Mock(_gateway=None)
        monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
        monkeypatch.setattr(gateway, "SparkContext", context)
        monkeypatch.setattr(gateway, "launch_gateway", launch)
        gateway.start_context(SparkConf(loadDefaults=False))
        return context

    return start


def test_the_callers_own_handler_of_interrupts_stays(handler: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    def started(_conf: SparkConf) -> None:
        signal.signal(signal.SIGINT, lambda *_: None)  # as Spark does when it starts

    monkeypatch.setattr(gateway, "SparkContext", Mock(_gateway=object(), getOrCreate=started))
    gateway.start_context(SparkConf(loadDefaults=False))
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_interrupt_waits_until_java_knows_whose_it_is(handler: Mock, start_with: Callable[[Launch], Mock]) -> None:
    def interrupted(_conf: SparkConf, _popen: dict[str, Any]) -> object:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert not handler.called
        return started

    started = object()
    context = start_with(interrupted)
    handler.assert_called_once()
    context._ensure_initialized.assert_called_once_with(gateway=started)


def test_what_java_says_is_passed_on_but_for_its_usual_warning(
    start_with: Callable[[Launch], Mock], capfd: pytest.CaptureFixture[str]
) -> None:
    def talkative(_conf: SparkConf, popen: dict[str, Any]) -> NoReturn:
        popen["stderr"].write(b"one\n" + WARNING + b"two, in \xff bytes\n")
        raise PySparkRuntimeError("Java is gone")

    with pytest.raises(PySparkRuntimeError):
        start_with(talkative)
    assert capfd.readouterr().err == "one\ntwo, in \ufffd bytes\n"


def test_java_that_is_there_is_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "launch_gateway", lambda *_: pytest.fail("Java was started"))
    for has_gateway, port in ((True, None), (False, "4711")):
        context = Mock(spec=SparkContext, _gateway=object() if has_gateway else None)
        monkeypatch.setattr(gateway, "SparkContext", context)
        if port is not None:
            monkeypatch.setenv("PYSPARK_GATEWAY_PORT", port)
        gateway.start_context(SparkConf(loadDefaults=False))
        context.getOrCreate.assert_called_once()
