"""Lines for a reader that may be slow: they keep their order, and those that are too many are counted."""

import logging
from threading import Event, Thread

import pytest

from replication.cli.serving import printing_thread
from replication.cli.serving.printing_thread import PrintingThread
from tests.replication.waiting import wait_until


class Reader:
    """Standard error, of which nothing is read before `reads`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stderr", self)
        self.reads, self.has_begun = Event(), Event()
        self.is_gone = False
        self.text = ""

    def write(self, text: str) -> None:
        is_gone = self.is_gone
        self.has_begun.set()
        assert self.reads.wait(30)
        if is_gone:
            raise BrokenPipeError
        self.text += text

    def flush(self) -> None: ...


def test_what_is_too_much_is_left_out_and_its_number_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reader = Reader(monkeypatch)
    lines = PrintingThread(most_waiting=2)
    lines.put("under way")
    assert reader.has_begun.wait(30)
    for number in range(5):
        lines.put(str(number))
    assert lines.dropped == 3
    reader.reads.set()
    lines.close()
    assert reader.text.split("\n") == ["under way", "0", "1", ""]
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == ["3 lines are missing"]


def test_that_lines_are_missing_is_printed_at_the_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where warnings come by the same lines."""

    class Printed(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.put(record.getMessage())

    reader = Reader(monkeypatch)
    lines = PrintingThread(most_waiting=2)
    logger, handler = logging.getLogger(printing_thread.__name__), Printed()
    logger.addHandler(handler)
    for number in range(5):
        lines.put(str(number))
        assert reader.has_begun.wait(30)
    end = Thread(target=lines.close)
    end.start()
    wait_until(lambda: lines._lines.qsize() == 3)
    reader.reads.set()
    end.join()
    logger.removeHandler(handler)
    *before, last = reader.text.splitlines()
    assert before == ["0", "1", "2"]
    assert last.endswith("2 lines are missing")


def test_all_is_printed_in_order_before_it_ends(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reader = Reader(monkeypatch)
    reader.reads.set()
    lines = PrintingThread()
    for number in range(1_000):
        lines.put(str(number))
    lines.close()
    assert reader.text.split() == [str(number) for number in range(1_000)]
    assert not caplog.records


def test_a_reader_that_comes_back_is_printed_to(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(monkeypatch)
    reader.reads.set()
    reader.is_gone = True
    lines = PrintingThread()
    lines.put("lost")
    assert reader.has_begun.wait(30)
    reader.is_gone = False
    lines.put("printed")
    lines.close()
    assert reader.text == "printed\n"
