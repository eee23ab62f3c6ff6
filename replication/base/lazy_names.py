"""Public names of a package that load their modules on first use (PEP 562): to import it costs next to nothing.

`logstore` does the same for itself, as `replication` can be imported without it.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from replication.base.missing_package import missing_package


def lazy_names(package: str, modules: Mapping[str, str], renamed: Mapping[str, str] = {}) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package or door, given the module of each name, below `replication`.

    A name that was `renamed` still loads what has the new one, with a warning. Raises ModuleNotFoundError that names
    the extra where a module needs a package that is not installed.

    >>> __getattr__ = lazy_names(__name__, {"Follower": "cluster.fetcher.follower"})
    """

    def load(name: str) -> Any:
        if name in renamed:
            from epoch.base.renamed import warn_renamed  # noqa: PLC0415  `replication` sees first whether it is ours

            warn_renamed(f"{package}.{name}", f"{package}.{renamed[name]}")
            return getattr(sys.modules[package], renamed[name])
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(f"replication.{modules[name]}")
        except ModuleNotFoundError as error:
            named = missing_package(f"{package}.{name}", error)
            if named is error:
                raise
            raise named from error
        value = getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return load
