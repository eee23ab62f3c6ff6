"""Numbers in text are read as Java reads them, and what is none is none, however long it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.base.int32 import INT32, parse_int32, parse_setting


@given(st.integers(-(2**40), 2**40), st.sampled_from(["", "+", "0", "0" * 5_000]))
def test_numbers_that_fit_are_read(number: int, before: str) -> None:
    text = f"{before}{number}" if number >= 0 else str(number)
    assert parse_int32(text) == (number if number in INT32 else None)


@given(st.text(max_size=12) | st.integers(4_299, 4_310).map("-9".__mul__) | st.integers(4_299, 4_310).map("9".__mul__))
def test_whatever_else_it_is_nothing_is_raised(text: str) -> None:
    number = parse_int32(text)
    assert number is None or number == int(text)


@pytest.mark.parametrize("text", ["", "-", "+", "--1", "1_000", "0x10", "1 ", "1e3", "2²", "\N{ROMAN NUMERAL TWO}"])
def test_what_java_does_not_read_is_none(text: str) -> None:
    assert parse_int32(text) is None


def test_settings_may_have_blanks_around() -> None:
    assert (parse_setting(" \t7\n\x00"), parse_setting("\u00a07"), parse_int32(" 7")) == (7, None, None)
