"""What `import replication` and its packages offer: the same names at run time and to type checkers."""

import re
from importlib import import_module
from pathlib import Path

import pytest

PACKAGES = [
    "replication",
    *(
        f"replication.{name}"
        for name in ("audit", "authorization", "explain", "node", "operations", "repair", "salvage")
    ),
    *(f"replication.{name}" for name in ("serving", "standalone", "testing", "transactions")),
]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_name_on_offer_is_there(name: str) -> None:
    package = import_module(name)
    for each in package.__all__:
        assert getattr(package, each) is not None


@pytest.mark.parametrize("name", PACKAGES)
def test_type_checkers_see_the_same_names(name: str) -> None:
    package = import_module(name)
    assert package.__file__ is not None
    stub = Path(package.__file__).with_suffix(".pyi").read_text()
    assert set(re.findall(r"\bas (\w+)", stub)) == set(package.__all__)
