"""Lines for a reader that may be slow: they keep their order, and those that are too many are counted."""

from threading import Event

import pytest

from replication.cli.printing_thread import PrintingThread


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
