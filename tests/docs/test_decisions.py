"""Each decision is a record of one form, and is in the index."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.data.replicas import PROJECT

DIRECTORY: Final = PROJECT / "docs/decisions"
INDEX: Final = DIRECTORY / "README.md"
RECORDS: Final = sorted({*DIRECTORY.glob("*.md")} - {INDEX})
HEADINGS: Final = ["Context", "Decision", "What it costs", "What would change it"]
MOST_WORDS: Final = 350
"""Half a page, by a generous hand."""


def test_the_records_are_numbered_without_a_gap() -> None:
    assert len(RECORDS) >= 20
    assert [record.name[:4] for record in RECORDS] == [f"{number:03}-" for number in range(1, len(RECORDS) + 1)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_each_record_has_its_four_parts_and_is_in_the_index(record: Path) -> None:
    text = record.read_text()
    number = record.name[:3]
    [title] = re.findall(rf"\A# {number}: (.+)$", text, re.MULTILINE)
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    assert head.strip() == f"# {number}: {title}"
    assert [part.partition("\n")[0] for part in parts] == HEADINGS
    assert all(part.partition("\n")[2].strip() for part in parts)
    assert len(text.split()) <= MOST_WORDS
    assert f"| [{number}]({record.name}) | {title} |\n" in INDEX.read_text()


def test_the_architecture_leads_to_the_index() -> None:
    assert "(decisions/README.md)" in (PROJECT / "docs/architecture.md").read_text()
