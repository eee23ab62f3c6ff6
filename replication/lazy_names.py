"""Public names of a package that load their modules on first use (PEP 562): to import it costs next to nothing.

`logstore` does the same for itself, as `replication` can be imported without it.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, given below it the module of each name.

    >>> __getattr__ = lazy_names(__name__, {"Follower": "fetcher.follower"})
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
