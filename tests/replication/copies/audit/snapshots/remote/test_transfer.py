"""What a store is asked for is whole, and as two of its answers have it."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.copies.audit.snapshots.remote import transfer
from replication.copies.audit.snapshots.remote.patience import Patience
from replication.copies.audit.snapshots.remote.transfer import AGREED, LOOKS, ONCE, GivenUpError, block, fetched


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "PAUSE_SECONDS", 0)


class CutFile:
    """Says that an answer is whole, and gives less: what pyarrow makes of a body that ends early."""

    def __init__(self, data: bytes, cuts: Iterator[int]) -> None:
        self._data, self._cuts, self._position = data, cuts, 0

    def size(self) -> int:
        return len(self._data)

    def seek(self, position: int) -> None:
        self._position = position

    def readinto(self, buffer: bytearray) -> int:
        part = self._data[self._position : self._position + len(buffer)]
        given = part[: max(len(part) - next(self._cuts), 0)]
        buffer[: len(given)] = given
        return len(part)


@given(data=st.binary(min_size=1, max_size=300), lacking=st.integers(1, 400))
def test_an_answer_that_ends_early_is_never_taken_for_whole(data: bytes, lacking: int) -> None:
    always, once = CutFile(data, count(lacking, 0)), CutFile(data, iter([lacking, *[0] * 9]))
    with pytest.raises(OSError, match="an answer of the store ends early"):
        block(always, 0, len(data))
    with suppress(OSError):
        assert bytes(block(once, 0, len(data))) == data


Told = bytes | OSError


def answering(answers: list[Told]) -> Callable[[int], bytes]:
    def fetch(look: int) -> bytes:
        told = answers[look]
        if isinstance(told, OSError):
            raise told
        return told

    return fetch


BAD = st.one_of(st.just(OSError("503")), st.just(FileNotFoundError("404")), st.binary(min_size=1, max_size=1))


@given(bad=BAD, at=st.integers(0, 2))
def test_one_bad_answer_changes_nothing(bad: Told, at: int) -> None:
    answers: list[Told] = [b"sound"] * LOOKS
    answers.insert(at, bad)
    differed: list[bool] = []
    assert fetched(answering(answers), AGREED, Patience(), lambda: differed.append(True)) == b"sound"
    assert len(differed) == (isinstance(bad, bytes) and at < AGREED)


def test_what_is_another_one_each_time_is_not_read() -> None:
    with pytest.raises(OSError, match=f"another one in each of {LOOKS} transfers"):
        fetched(lambda look: look, AGREED, Patience())


def test_of_what_is_another_one_each_time_the_transfers_that_came_are_told_and_that_somebody_may_write() -> None:
    with pytest.raises(OSError, match="in each of 2 transfers: wait until it is no longer written"):
        fetched(answering([b"a", OSError("status 503"), b"b", *[OSError("status 503")] * 9]), AGREED, Patience())


def test_what_is_not_there_twice_is_gone() -> None:
    asked = []

    def fetch(look: int) -> bytes:
        asked.append(look)
        raise FileNotFoundError("no such object")

    with pytest.raises(FileNotFoundError, match="no such object"):
        fetched(fetch, ONCE, Patience())
    assert asked == [0, 1]


def test_what_fails_each_time_says_why() -> None:
    with pytest.raises(OSError, match="status 503"):
        fetched(answering([OSError("status 503")] * 10), AGREED, Patience())


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("", "^request failed; look .*: it was not"),
        (": ", "^request failed; look .*: it was not"),
        ("odd: : ", "^request failed: odd; look .*: it was not"),
    ],
)
def test_an_empty_answer_leaves_no_colons(answer: str, told: str) -> None:
    with pytest.raises(OSError, match=told):
        fetched(answering([OSError(answer)]), ONCE, Patience(most=-1))


def test_once_what_fails_has_taken_too_long_nothing_is_asked_again() -> None:
    patience = Patience(most=-1)
    with pytest.raises(OSError, match=r"status 429.*: it was not asked again, as requests that failed have kept"):
        fetched(answering([OSError("status 429"), b"sound"]), ONCE, patience)
    assert fetched(answering([b"sound", b"sound"]), AGREED, patience) == b"sound"


def test_what_was_given_up_is_not_asked_for_again() -> None:
    asked = []

    def fetch_part(look: int) -> bytes:
        asked.append(look)
        raise OSError("AWS Error ACCESS_DENIED")

    with pytest.raises(GivenUpError, match=r"^access denied: AWS Error ACCESS_DENIED; allow these"):
        fetched(lambda _look: fetched(fetch_part, ONCE, Patience()), AGREED, Patience())
    assert asked == [0, 1]
