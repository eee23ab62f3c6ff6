"""What goes through a pipe is what was sent, errors too."""

import io
from pathlib import Path
from typing import Any

import pytest

from epoch.errors import CheckpointError
from logstore.errors import CorruptBatchError
from replication.base.errors import WorkerDiedError
from replication.copies.workers.worker_calls import Outcome, receive, send


def through_a_pipe(message: Any) -> Any:
    pipe = io.BytesIO()
    send(pipe, message)
    pipe.seek(0)
    return receive(pipe)


@pytest.mark.parametrize(
    "error",
    [
        CheckpointError(Path("checkpoint"), 3, "is no number", "remove it"),
        CorruptBatchError("the checksum does not match", file="log", position=1, offset=2, advice="take another"),
        WorkerDiedError(-9, 4),
        FileNotFoundError(2, "no such file", "log"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        ExceptionGroup("several", [ValueError("one")]),
        KeyError("key"),
    ],
)
def test_an_error_is_the_same_with_all_that_it_tells(error: Exception) -> None:
    error.add_note("a note")
    _, told = through_a_pipe(Outcome(error=error))
    assert (type(told), str(told), vars(told)) == (type(error), str(error), vars(error))


def test_what_breaks_off_is_an_end() -> None:
    pipe = io.BytesIO()
    send(pipe, [1, 2, 3])
    for size in range(len(pipe.getvalue())):
        with pytest.raises(EOFError):
            receive(io.BytesIO(pipe.getvalue()[:size]))
