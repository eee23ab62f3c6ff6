"""What is printed of an incident is what was read and found good."""

from pathlib import Path

import pytest

from tests.replication.copies.audit.incident.golden_texts import CASES, GOLDEN, printed

LONGEST = 70
"""Lines of a text, however much there is, unless all was asked for."""


@pytest.mark.parametrize("name", CASES)
def test_a_text_is_as_it_was_read(name: str, tmp_path: Path) -> None:
    expected = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert printed(name, tmp_path) == expected
    assert len(expected.splitlines()) <= LONGEST or "--verbose" in expected.splitlines()[0]


def test_each_text_is_of_a_case() -> None:
    assert {each.stem for each in GOLDEN.iterdir()} == set(CASES)
