"""Which tests reach which functions: a fault is tried on these alone, the fastest first."""

import builtins
import json
from collections.abc import Collection, Generator, Iterable, Iterator
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

import pytest

from tests.mutants.mutant import marked, put_in_place

FLAGS: Final = "_reached_by_tests"
"""A builtin while tests are watched: a byte for each function, which the processes that tests fork share."""


class Function(NamedTuple):
    """A function that gets faults."""

    file: str
    name: str


@dataclass(frozen=True)
class Reach:
    """What one test reaches."""

    test: str
    """Its node id."""
    seconds: float
    functions: frozenset[Function]

    @property
    def file(self) -> str:
        """Return the file of the test."""
        return self.test.partition("::")[0]


class Watch:
    """A pytest plugin that notes what each test reaches, and writes it to a file in the end.

    What the fixtures of a test reach counts for all tests of its file: they may share them.
    """

    def __init__(self, files: Iterable[str], place: Path) -> None:
        self._place: Final = place
        self._functions: Final[list[Function]] = []
        self._rows: Final[list[tuple[str, float, set[int]]]] = []
        self._shared: Final[set[int]] = set()
        for file in files:
            codes = list(marked(file, FLAGS, len(self._functions)))
            self._functions.extend(Function(file, name) for name, _ in codes)
            put_in_place(file, [code for _, code in codes])
        self._flags: Final = mmap(-1, len(self._functions) or 1)
        setattr(builtins, FLAGS, self._flags)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Time a test, and note what it reaches."""
        started = monotonic()
        self._take()
        done = yield
        self._rows.append((item.nodeid, monotonic() - started, self._take()))
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        """Note what fixtures reach."""
        done = yield
        self._shared.update(self._take())
        return done

    def pytest_sessionfinish(self) -> None:
        """Write down what was noted."""
        rows = [[test, seconds, sorted(reached | self._shared)] for test, seconds, reached in self._rows]
        self._place.write_text(json.dumps({"functions": self._functions, "tests": rows}))

    def _take(self) -> set[int]:
        """Return what was reached since the last time."""
        reached = {number for number, flag in enumerate(self._flags[: len(self._functions)]) if flag}
        self._flags[:] = bytes(len(self._flags))
        return reached


def read_reaches(place: Path) -> Iterator[Reach]:
    """Read what a Watch wrote."""
    noted = json.loads(place.read_text())
    functions = [Function(*each) for each in noted["functions"]]
    for test, seconds, reached in noted["tests"]:
        yield Reach(test, seconds, frozenset(functions[number] for number in reached))


class Choice:
    """A pytest plugin that runs some tests only, in the given order."""

    def __init__(self, tests: Collection[str]) -> None:
        self._order: Final = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Take the tests that are chosen."""
        items[:] = sorted((each for each in items if each.nodeid in self._order), key=self._place)

    def _place(self, item: pytest.Item) -> int:
        return self._order[item.nodeid]
