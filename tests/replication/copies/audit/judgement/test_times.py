"""Times in sentences."""

import pytest

from replication.copies.audit.judgement.times import moment, stretch

DAY = 86_400_000
T = 1_700_000_000_000


@pytest.mark.parametrize("milliseconds", [None, -1, -(2**63), 2**63 - 1])
def test_what_is_no_date_is_left_out(milliseconds: int | None) -> None:
    assert moment(milliseconds) is None
    assert stretch(milliseconds, T) is None


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (T + 999, "2023-11-14 22:13:20 UTC"),
        (T + 28_000, "2023-11-14 22:13:20 to 22:13:48 UTC"),
        (T + DAY, "2023-11-14 22:13:20 to 2023-11-15 22:13:20 UTC"),
    ],
)
def test_nothing_is_said_twice(last: int, words: str) -> None:
    assert stretch(T, last) == words
