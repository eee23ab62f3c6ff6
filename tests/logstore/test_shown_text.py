"""Text is shown so that any terminal, table or page takes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.shown_text import shown


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("orders-0", "orders-0"),
        ("Aufträge-0", "Aufträge-0"),
        ("a\nb", "a\\x0ab"),
        ("\x1b]0;x\x07", "\\x1b]0;x\\x07"),
        ("\udcff\udcfe.log", "\\xff\\xfe.log"),
        ("\u202egol.txt", "\\xe2\\x80\\xaegol.txt"),
        ("\ud800", "\\xed\\xa0\\x80"),
    ],
)
def test_what_is_not_printable_is_escaped(text: str, seen: str) -> None:
    assert shown(text) == seen


@given(st.text(st.characters(categories=None)))
def test_all_text_can_be_printed_and_encoded(text: str) -> None:
    assert shown(text).isprintable()
    shown(text).encode()
