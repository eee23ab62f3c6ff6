"""How Sphinx makes the site of `make docs`: the pages as they are, in the parts of docs/README.md."""  # noqa: INP001

import re
from typing import Final

from sphinx.application import Sphinx

INDEX: Final = "docs/README"
PART: Final = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
PAGE: Final = re.compile(r"\]\(((?:\.\./|decisions/)?[\w-]+)\.md\)")
BESIDE: Final = re.compile(r"\]\((\d[\w-]+)\.md\)")

project = "epochlog"
extensions = ["myst_parser"]
root_doc = INDEX
include_patterns = ["*.md", "docs/**.md"]
exclude_patterns = [".*", "build", "dist"]
templates_path = ["site"]
html_additional_pages = {"index": "index.html"}
html_theme = "furo"
html_title = project
html_show_sourcelink = False
html_use_index = False
# The anchors of headings are those of code forges, which tests/docs/test_pages.py knows.
myst_heading_anchors = 4


def setup(app: Sphinx) -> None:
    """Connect what names the pages below a page, of which Sphinx makes the navigation."""
    app.connect("source-read", add_contents)


def add_contents(_: Sphinx, page: str, source: list[str]) -> None:
    """Add the contents that Sphinx wants below a page: those of each part of the index, once, and all decisions."""
    if page == INDEX:
        seen: set[str] = set()
        for part, text in PART.findall(source[0]):
            pages = [each for each in dict.fromkeys(PAGE.findall(text)) if each not in seen]
            seen.update(pages)
            source[0] += contents(pages, part)
    elif page == "docs/decisions/README":
        source[0] += contents(list(dict.fromkeys(BESIDE.findall(source[0]))), "")


def contents(pages: list[str], caption: str) -> str:
    """Write a table of contents that is not shown on the page."""
    heading = f":caption: {caption}\n" if caption else ""
    return f"\n```{{toctree}}\n:hidden:\n{heading}\n" + "\n".join(pages) + "\n```\n"
