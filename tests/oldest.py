"""The oldest release that pyproject.toml promises of each dependency, and which of the tests run on them today.

`python -m tests.oldest releases` writes constraints for pip. `python -m tests.oldest files 5` names a fifth of the
files with tests, by the seed, and beside it those of each run: Spark and Arrow change most.
"""

import sys
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final
from zlib import crc32

from packaging.requirements import Requirement

from tests.campaign import run_seed

PROJECT: Final = Path(__file__).parents[1]
NOT_TESTED: Final = ("tests/docs/", "tests/bench/", "tests/pipelines/")
IN_EACH_RUN: Final = ("tests/replication/copies/audit/spark/source/test_data_source.py", "tests/test_oldest.py")


def requirements() -> Iterator[Requirement]:
    """Find what the packages, their extras and `make test` require, but for the packages themselves."""
    document = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    project = document["project"]
    extras, tests = project["optional-dependencies"], document["dependency-groups"]["dev"]
    for requirement in map(Requirement, chain(project["dependencies"], *extras.values(), tests)):
        if requirement.name != project["name"]:
            yield requirement


def oldest(requirement: Requirement) -> str:
    """Pin the release that the lower bound names, which there must be."""
    (bound,) = (specifier.version for specifier in requirement.specifier if specifier.operator == ">=")
    return f"{requirement.name}=={bound}"


def files() -> Iterator[str]:
    """Name the files with tests, but those of the pages and the benchmarks, which say what certain releases give."""
    for file in sorted((PROJECT / "tests").rglob("test_*.py")):
        name = str(file.relative_to(PROJECT))
        if not name.startswith(NOT_TESTED):
            yield name


def files_of_this_run(shares: int) -> list[str]:
    """Name one of several shares of the files, and those of each run."""
    due = run_seed() % shares
    return [name for name in files() if name in IN_EACH_RUN or crc32(name.encode()) % shares == due]


if __name__ == "__main__":
    wanted = map(oldest, requirements()) if sys.argv[1] == "releases" else files_of_this_run(int(sys.argv[2]))
    sys.stdout.writelines(f"{each}\n" for each in wanted)
