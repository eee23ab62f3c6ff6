"""Which files with tests take longest: parallel workers begin with them, so that all end at about the same time.

Only what takes a good part of a minute is worth an entry; a file that is missing here costs some seconds at the end.
`make test` prints the slowest tests.
"""

from typing import Final

import pytest

LONGEST: Final = ("tests/epoch/test_kernel_cache.py",)


def longest_first(items: list[pytest.Item]) -> None:
    """Put the tests of those files before all others, which keep their order."""
    items.sort(key=lambda item: _place(item.nodeid.partition("::")[0]))


def _place(file: str) -> int:
    return LONGEST.index(file) if file in LONGEST else len(LONGEST)
