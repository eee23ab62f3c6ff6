"""One of a thing is singular, and any other number of them plural."""

import pytest

from replication.base.counted import counted


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 records"), (1, "1 record"), (2, "2 records"), (1_000, "1,000 records")]
)
def test_only_one_is_singular(number: int, told: str) -> None:
    assert counted(number, "record") == told


def test_a_plural_that_is_no_noun_with_an_s_is_given() -> None:
    assert [counted(number, "batch", "batches") for number in (1, 2)] == ["1 batch", "2 batches"]
