"""Errors say what, where and what next, and survive being sent to another process."""

import pickle

import pytest

from logstore import errors
from logstore.errors import LogStoreError, OffsetOutOfRangeError, TornBatchError

CLASSES = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, LogStoreError)]


def test_the_message_names_what_where_and_what_next() -> None:
    error = TornBatchError("the file ends", file="a.log", position=1234, offset=99, advice="read again")
    assert str(error) == "a.log: the file ends at position 1,234, offset 99; read again"
    assert str(TornBatchError("the file ends")) == "the file ends"


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_can_be_pickled_whole(kind: type[LogStoreError]) -> None:
    error = kind("what", file="f", position=1, offset=2, advice="next")
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301  its own
    assert type(copy) is kind
    assert (str(copy), copy.file, copy.position, copy.offset) == (str(error), "f", 1, 2)


@pytest.mark.parametrize("kind", [each for each in CLASSES if each is not LogStoreError])
def test_every_error_is_also_a_fitting_builtin(kind: type[LogStoreError]) -> None:
    assert issubclass(kind, ValueError | EOFError | LookupError | OSError | RuntimeError)


def test_an_error_takes_the_place_that_only_the_caller_knows() -> None:
    placed = TornBatchError("what", advice="next").with_position(file="f", position=3, offset=4)
    assert type(placed) is TornBatchError
    assert str(placed) == "f: what at position 3, offset 4; next"


@pytest.mark.parametrize(
    ("start", "end", "held"),
    [
        (1, 3, "the log holds offsets 1 to 2, and not 7"),
        (2, 3, "the log holds offset 2, and not 7"),
        (3, 3, "the log is empty and ends at offset 3: it does not hold 7"),
        (9, None, "the log holds offsets from 9 on, and not 7"),
    ],
)
def test_the_offsets_that_a_log_holds_end_with_its_last_one(start: int, end: int | None, held: str) -> None:
    error = OffsetOutOfRangeError.outside_of("orders-0", 7, start, end, "read from its start")
    assert (error.what, error.file, error.offset) == (held, "orders-0", 7)
