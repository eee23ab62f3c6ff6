"""`make test-oldest` runs on the releases that it says, and in time all of the tests."""

import os
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.oldest import IN_EACH_RUN, PROJECT, files, files_of_this_run, oldest, requirements


def test_every_dependency_says_which_release_is_its_oldest() -> None:
    names = {requirement.name for requirement in requirements()}
    assert {"numpy", "pyspark", "typer", "kio", "kazoo", "pytest"} <= names
    for requirement in requirements():
        assert oldest(requirement) == f"{requirement.name}=={min_of(requirement)}"


def min_of(requirement: Requirement) -> str:
    return min((each.version for each in requirement.specifier), key=Version)


@pytest.mark.parametrize("requirement", list(requirements()), ids=lambda requirement: requirement.name)
def test_what_is_installed_is_promised(requirement: Requirement) -> None:
    installed = version(requirement.name)

    assert installed in requirement.specifier
    if "OLDEST" in os.environ:  # as `make test-oldest` says
        assert Version(installed) == Version(min_of(requirement))


def test_the_shares_of_successive_seeds_are_all_files(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()
    for seed in range(20_000, 20_005):
        monkeypatch.setenv("CAMPAIGN_SEED", str(seed))
        share = files_of_this_run(5)
        assert set(IN_EACH_RUN) <= set(share)
        assert len(share) < len(list(files())) / 2
        seen.update(share)
    assert seen == set(files())
    assert len(seen) > 200
    assert all((PROJECT / name).is_file() for name in IN_EACH_RUN)
