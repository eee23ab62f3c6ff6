"""Packages whose modules are imported when something of them is first used (PEP 562).

    from logstore import recovery

    recovery.segment_split.write_parts(...)

A short program does not load what it does not come to. Where type checkers are to know such a module, its package
imports it for them alone.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

from epoch.base.resource_limits import refuse_beyond_limit

Loader = Callable[[str], ModuleType]
"""Imports the module of a package that has the name."""


def lazy_modules(package: str) -> Loader:
    """Return the `__getattr__` of a package that imports its modules so.

    >>> __getattr__: Loader = lazy_modules(__name__)
    """

    def load(name: str) -> ModuleType:
        full_name = f"{package}.{name}"
        try:
            return import_module(full_name)
        except ModuleNotFoundError as error:
            if error.name != full_name:
                raise
        except OSError as error:  # no descriptor is left to read it by
            refuse_beyond_limit(error, Path(full_name.replace(".", "/")))
            raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load
