"""The faults that no test need notice, with the reason: a table in docs/reliability.md."""

import re
from typing import Final

from tests.mutants.mutant import PROJECT

PAGE: Final = PROJECT / "docs/reliability.md"
ROW: Final = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| `(.+?)` → `(.+?)` \| (.+) \|$", re.MULTILINE)


def listed() -> dict[str, str]:
    """Give the reason for each listed fault, by the mutant's name."""
    _, _, table = PAGE.read_text().partition("<!-- survivors: begin -->")
    rows = ROW.findall(table.partition("<!-- survivors: end -->")[0].replace(r"\|", "|"))
    return {f"{file} {function}: {before} -> {after}": reason for file, function, before, after, reason in rows}
