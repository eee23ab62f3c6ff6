"""The next item is made while the one before is worked on."""

import threading
from collections.abc import Iterator

import pytest

from logstore.verify.read_ahead import read_ahead

SECONDS = 30


def test_all_items_come_in_their_order() -> None:
    assert list(read_ahead(iter(range(1, 6)))) == [1, 2, 3, 4, 5]
    assert list(read_ahead(iter(()))) == []


def test_the_next_item_is_made_while_one_is_worked_on() -> None:
    second_is_made = threading.Event()

    def items() -> Iterator[str]:
        yield "first"
        second_is_made.set()
        yield "second"

    coming = read_ahead(items())
    assert next(coming) == "first"
    assert second_is_made.wait(SECONDS)
    assert list(coming) == ["second"]


def test_an_error_comes_where_its_item_would_have() -> None:
    def items() -> Iterator[str]:
        yield "first"
        raise OSError("the disk is gone")

    coming = read_ahead(items())
    assert next(coming) == "first"
    with pytest.raises(OSError, match="the disk is gone"):
        next(coming)


def test_nothing_goes_on_behind_the_back_of_who_stops_early() -> None:
    before = set(threading.enumerate())
    coming = read_ahead(iter(range(1, 6)))
    next(coming)
    coming.close()
    assert set(threading.enumerate()) <= before  # those of earlier tests may end meanwhile
