"""What each extra installs: Spark comes by its own name, and `all` has everything."""

import re
import tomllib
from pathlib import Path
from typing import Final

import pytest

PROJECT: Final = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
EXTRAS: Final[dict[str, list[str]]] = PROJECT["optional-dependencies"]
WITH_SPARK: Final = {"spark", "all"}


def installed_by(extra: str) -> set[str]:
    """The names of all distributions that an extra installs, by the extras that it names, too."""
    names = set[str]()
    for requirement in EXTRAS[extra]:
        [(name, named)] = re.findall(r"^([\w-]+)(?:\[([\w,]+)\])?", requirement)
        if name == PROJECT["name"]:
            names.update(*(installed_by(each) for each in named.split(",")))
        else:
            names.add(name)
    return names


@pytest.mark.parametrize("extra", EXTRAS)
def test_spark_comes_by_its_own_extra_alone(extra: str) -> None:
    assert ("pyspark" in installed_by(extra)) is (extra in WITH_SPARK)


def test_operators_get_the_command_the_audit_and_connections() -> None:
    assert installed_by("ops") == installed_by("cli") | installed_by("audit") | installed_by("wire")


def test_all_is_everything() -> None:
    assert installed_by("all") == set[str]().union(*map(installed_by, EXTRAS))
