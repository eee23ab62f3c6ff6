"""The site of `make docs`: a broken link or anchor fails, and so does a page that the index does not name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import require
from tests.data.replicas import PROJECT

SPHINX = PROJECT / "build/sphinx"
INDEX = "# Documentation\n\n## Tutorials\n\n[Start](start.md)\n\n## Reference\n\n[The project](../README.md)\n"
PAGES = {"README.md": "# The project\n\n[Documentation](docs/README.md)\n", "docs/README.md": INDEX}


def build(directory: Path, start: str, **others: str) -> subprocess.CompletedProcess[str]:
    """What Sphinx says of a project with this page, by the configuration of ours."""
    require(available=(SPHINX / "sphinx").is_dir(), what="Sphinx in build/sphinx, which `make docs` puts there,")
    for name, text in {**PAGES, "docs/start.md": start, **others}.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(text)
    words = [
        "-m",
        "sphinx",
        "--fail-on-warning",
        "--keep-going",
        "-q",
        "-c",
        PROJECT / "docs",
        directory,
        directory / "site",
    ]
    environment = os.environ | {"PYTHONPATH": str(SPHINX)}
    return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)


def test_sound_pages_become_a_site_with_the_parts_of_the_index_as_its_navigation(tmp_path: Path) -> None:
    built = build(tmp_path, "# Start\n\n## To begin\n\n[Begin](#to-begin), [the index](README.md#reference)\n")
    assert (built.returncode, built.stderr) == (0, "")
    page = (tmp_path / "site/docs/start.html").read_text()
    assert page.index(">Tutorials<") < page.index(">Reference<")
    assert "docs/README.html" in (tmp_path / "site/index.html").read_text()


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("# Start\n\n[nowhere](nowhere.md)\n", "nowhere.md"),
        ("# Start\n\n[nowhere](README.md#nowhere)\n", "'nowhere'"),
        ("# Start\n\n[nowhere](#nowhere)\n", "'nowhere'"),
    ],
)
def test_a_broken_link_or_anchor_fails(start: str, told: str, tmp_path: Path) -> None:
    built = build(tmp_path, start)
    assert built.returncode != 0
    assert told in built.stderr


def test_a_page_that_the_index_does_not_name_fails(tmp_path: Path) -> None:
    built = build(tmp_path, "# Start\n", **{"docs/more.md": "# More\n"})
    assert built.returncode != 0
    assert "more.md" in built.stderr
