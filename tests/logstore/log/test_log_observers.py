"""Observers are told what happens, in turn, and Python's logging is told what is rare."""

import inspect
import logging
import subprocess
import sys
import time
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from logstore.batch.record import Record
from logstore.clock import WatchedClock
from logstore.log.log import Log
from logstore.log.observers.log_observer import LogObserver
from logstore.log.observers.log_observers import LogObservers, hears
from logstore.log.observers.logging_thread import LOGGING, LoggingThread
from logstore.log_config import LogConfig

CONFIG = LogConfig(segment_bytes=300, file_delete_delay_ms=0, retention_ms=-1)
EVENTS = [name for name in vars(LogObserver) if not name.startswith("_")]


def live(directory: Path, observer: LogObserver | None = None) -> Log:
    """A log to which everything has happened."""
    doubted = WatchedClock(is_confirmed=False)
    with Log.open(directory, CONFIG, replicated=True, observer=observer, clock=doubted) as log:
        for _ in range(12):
            log.append([Record.of(b"value", timestamp=1)] * 3, leader_epoch=0)
        log.flush()
        log.truncate_to(30)
        log.update_high_watermark(20)
        log.delete_records(15)
        log.delete_old_segments()
        log.config = replace(CONFIG, retention_ms=0)
        log.delete_old_segments()
        log.config = LogConfig(cleanup_policy=frozenset({"compact"}))
        log.update_high_watermark(30)
        log.compact()
        log._guard.poison(OSError(5, "broken"))
        log.abandon()
    return log


class Noting(LogObserver):
    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def __getattribute__(self, name: str) -> Any:
        if name in EVENTS:
            return lambda *what: self.told.append((name, *what))
        return super().__getattribute__(name)


def test_all_observers_are_told_the_same_in_turn(tmp_path: Path) -> None:
    first, second = Noting(), Noting()
    live(tmp_path / "t-0", LogObservers(first, second))
    assert first.told == second.told
    assert {name for name, *_ in first.told} == set(EVENTS)
    assert {directory for _, directory, *_ in first.told} == {tmp_path / "t-0"}


def test_appends_pay_nothing_for_who_ignores_them(tmp_path: Path) -> None:
    class Rolls(LogObserver):
        def rolled(self, directory: Path, base_offset: int, /) -> None: ...

    ignoring = LogObservers(Rolls(), LogObserver())
    assert [name for name in EVENTS if hears(ignoring, name)] == ["rolled"]
    assert ignoring.rolled.__func__ is Rolls.rolled  # type: ignore[attr-defined]  # with nothing in between
    with Log.open(tmp_path / "t-0", observer=ignoring) as log:
        assert log._environment.writes is None
    with Log.open(tmp_path / "t-0", observer=Noting()) as log:
        assert log._environment.writes is not None


def test_each_event_says_that_it_is_told_a_directory() -> None:
    for name in EVENTS:
        parameters = list(inspect.signature(getattr(LogObserver, name)).parameters.values())[1:]
        assert (parameters[0].name, parameters[0].annotation) == ("directory", Path)
        assert {parameter.kind for parameter in parameters} == {inspect.Parameter.POSITIONAL_ONLY}


def test_an_observer_may_name_its_parameters_as_it_likes(tmp_path: Path) -> None:
    rolled = []

    class Older(LogObserver):
        def rolled(self, log: Path, base_offset: int) -> None:
            rolled.append((log.name, base_offset))

    live(tmp_path / "t-0", Older())
    assert rolled[0] == ("t-0", 9)


def test_what_is_rare_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "logstore"):
        live(tmp_path / "t-0")
        with open(tmp_path / "t-0" / "00000000000000000027.log", "ab") as file:
            file.write(b"torn" * 30)
        Log.open(tmp_path / "t-0", CONFIG, replicated=True).close()
    told = [(record.levelname, record.getMessage().removeprefix(f"{tmp_path}/t-0: ")) for record in caplog.records]
    assert {record.name for record in caplog.records} == {"logstore"}
    assert [each for each in told if "opened" not in each[1]] == [
        *(("INFO", f"a new segment begins at offset {offset}") for offset in (9, 18, 27)),
        ("INFO", "truncated to offset 30, 194 bytes removed"),
        ("INFO", "deleted the segment at offset 0, 291 bytes"),
        ("WARNING", "nothing is deleted by age: no other node's clock has confirmed this one yet"),
        ("INFO", "compacted below offset 27, 582 bytes removed"),
        ("ERROR", f"the log refuses writes from now on: {told[7][1].partition('now on: ')[2]}"),
        ("WARNING", f"dropped 120 bytes of 00000000000000000027.log: {told[8][1].partition('.log: ')[2]}"),
    ]


def test_what_a_handler_raises_does_not_reach_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Raising(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(record.levelname)
            raise ValueError

    told: list[str] = []
    with handled_by(Raising()), caplog.at_level(logging.INFO, "logstore"), Log.open(tmp_path / "t-0", CONFIG) as log:
        log.append([b"value"])
        log.roll()
        log.truncate_to(0)
        assert (log.failure, log.log_end_offset) == (None, 0)
        log.close()
    assert told == ["INFO", "INFO"]


def test_a_slow_handler_holds_up_no_call_but_close(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Slow(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            assert go_on.wait(60)
            told.append(record.levelname)
            log.append([b"from a handler"])

    told: list[str] = []
    go_on = Event()
    with handled_by(Slow()), caplog.at_level(logging.INFO, "logstore"), Log.open(tmp_path / "t-0", CONFIG) as log:
        log.append([b"value"])
        log.roll()
        log.append([b"meanwhile"])
        assert (told, log.log_end_offset) == ([], 2)
        go_on.set()
        assert LOGGING.drain(60)
        assert (told, log.log_end_offset) == (["INFO"], 3)


def test_a_handler_that_hangs_is_waited_for_once_and_not_by_every_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Hanging(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            assert go_on.wait(600)
            told.append(record.levelname)

    told: list[str] = []
    go_on = Event()
    with handled_by(Hanging()), caplog.at_level(logging.INFO, "logstore"):
        with Log.open(tmp_path / "t-0", CONFIG) as log:
            log.append([b"value"])
            log.roll()
            assert not LOGGING.drain(0.01)
            assert not LOGGING.drain(600), "it returns at once"
        assert told == []
        go_on.set()
        while LOGGING._late is not None and LOGGING._late.locked():
            time.sleep(0.001)
        assert LOGGING.drain(60)
        assert told == ["INFO"]


def test_a_signal_handler_may_log_while_its_thread_begins_to_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def start_interrupted(work: Callable[[], object], arguments: tuple[()]) -> int:
        monkeypatch.undo()
        logging_thread.tell(logging.INFO, "from a signal handler")
        return start_new_thread(work, arguments)

    logger = logging.getLogger("logstore.interrupted")  # what logs of other tests still say is another's
    logging_thread = LoggingThread(logger)
    with caplog.at_level(logging.INFO, "logstore"):
        monkeypatch.setattr("logstore.log.observers.logging_thread.start_new_thread", start_interrupted)
        caller = Thread(target=logging_thread.tell, args=(logging.INFO, "interrupted"), daemon=True)
        caller.start()
        caller.join(60)
        assert not caller.is_alive()
        assert logging_thread.drain(60)
    told = [record.getMessage() for record in caplog.records if record.name == logger.name]
    assert sorted(told) == ["from a signal handler", "interrupted"]


def test_a_forked_process_logs_too_and_not_what_its_parent_has_told(tmp_path: Path) -> None:
    program = f"""
import logging, os, sys, time
from logstore import Log
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(process)d %(message)s")
log = Log.open({str(tmp_path / "t-0")!r})
log.append([b"value"])
log.roll()
child = os.fork()
if not child:
    with Log.open({str(tmp_path / "u-0")!r}) as log:
        log.append([b"value"])
        log.roll()
    sys.exit()
os.waitpid(child, 0)
log.close()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    lines = [line.partition(" ") for line in done.stdout.splitlines() if "begins" in line]
    assert sorted(message.rpartition("/")[2] for _, _, message in lines) == [
        "t-0: a new segment begins at offset 1",
        "u-0: a new segment begins at offset 1",
    ]
    assert len({process for process, _, _ in lines}) == 2


@contextmanager
def handled_by(handler: logging.Handler) -> Iterator[None]:
    logging.getLogger("logstore").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("logstore").removeHandler(handler)


def test_nothing_is_printed_unless_logging_is_set_up(tmp_path: Path) -> None:
    program = "import sys, pathlib, tests.logstore.log.test_log_observers as t; t.live(pathlib.Path(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "t-0"], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
