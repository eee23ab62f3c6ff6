"""Every example in the README and in docs/ does what the page says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import require, require_java_for_spark
from tests.docs.examples import LANGUAGES, PAGES, blocks_of, commands_of, matches, outcomes

WITH_EXAMPLES = [page for page in PAGES if any(block.runs for block in blocks_of(page.read_text()))]
UNPACKS = re.compile(r"^\$ tar ", re.MULTILINE)
STARTS_SPARK = re.compile(r"^\$ epochlog (?:audit|demo)|start_session\(", re.MULTILINE)


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    examples = "\n".join(block.body for block in blocks_of(page.read_text()) if block.runs)
    if STARTS_SPARK.search(examples):
        require_java_for_spark()
    if UNPACKS.search(examples):
        require(available=shutil.which("xz") is not None, what="xz")
    wrong = [outcome for outcome in outcomes(page, tmp_path) if not matches(outcome.expected, outcome.actual)]
    assert not wrong, "\n".join([f"{page.name}; `python -m tests.docs.examples` writes it anew", *map(str, wrong)])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_is_of_a_kind_that_is_run_or_is_plain_text(page: Path) -> None:
    text = page.read_text()
    assert {block.language for block in blocks_of(text)} <= LANGUAGES
    assert text.count("\n```") == 2 * len(blocks_of(text)), "a fence is not closed"


def test_the_examples_of_a_queue_can_be_run_again_where_they_have_run(tmp_path: Path) -> None:
    [page] = [page.read_text() for page in PAGES if page.name == "queue.md"]
    for example in [block.body for block in blocks_of(page) if block.runs]:
        first, second = [
            subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=True)
            for _ in range(2)
        ]
        assert first.stdout == second.stdout != ""


def test_the_guides_have_examples() -> None:
    guides = {"README.md", "audit.md", "embedding.md", "getting-started.md", "recipes.md", "truncation.md"}
    assert guides <= {page.name for page in WITH_EXAMPLES}


def test_commands_may_go_on_in_the_next_line() -> None:
    assert [str(each) for each in commands_of("$ one \\\n    two\nprinted\n$ three\n")] == [
        "$ one \\\n    two\nprinted\n",
        "$ three\n",
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("a  \nb\n", "a\nb  \n", True),
        ("a\n...\nz\n", "a\nb\nc\nz\n", True),
        ("a\n...\n", "a\n", True),
        ("a\n...\nz\n", "b\nz\n", False),
        ("a.c\n", "abc\n", False),
        ("", "a\n", False),
    ],
)
def test_output_is_compared_line_by_line(expected: str, actual: str, *, same: bool) -> None:
    assert matches(expected, actual) is same
