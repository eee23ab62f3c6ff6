"""Properties are read as java.util.Properties reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.files.java_properties import parse_properties


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (b"a=b", "b"),
        (b"a = b ", "b "),
        (b"  a:b", "b"),
        (b"a b", "b"),
        (b"a\t=\tb", "b"),
        (b"a==b", "=b"),
        (b"a", ""),
        (b"a=", ""),
        (b"#a=c\n!a=c\n\n \t\na=b", "b"),
        (b"a=c\na=b", "b"),
        (b"a=b\r\nc=d", "b"),
        (b"a=b\rc=d", "b"),
        (b"a=b\\\nc", "bc"),
        (b"a=b\\\r\n \t c", "bc"),
        (b"a=b\\\n#c", "b#c"),
        (b"a=b\\\n\nc=d", "b"),
        (b"a=b\\", "b"),
        (b"a=b\\\\\nc=d", "b\\"),
        (b"a=b\\\\\\\nc", "b\\c"),
        (b"a=\\u0041\\t\\n\\z\\:", "A\t\nz:"),
        (b"a=\\ud83d\\ude00", "\N{GRINNING FACE}"),
        (b"\\u0061=b", "b"),
        (b"a=\xc5rhus \x85", "\xc5rhus \x85"),
    ],
)
def test_it_is_read_as_java_reads_it(written: bytes, value: str) -> None:
    assert parse_properties(written)["a"] == value


def test_a_separator_may_be_part_of_a_key() -> None:
    assert parse_properties(rb"a\=b\:c\ d=e") == {"a=b:c d": "e"}


@given(st.binary())
def test_whatever_there_is_is_read(written: bytes) -> None:
    for each in parse_properties(written).items():
        "".join(each).encode()
