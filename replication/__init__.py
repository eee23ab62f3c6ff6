"""Everything that needs more than one replica: following leaders, planning, the command line, audits of clusters."""

__distribution__ = "epochlog 0.1.0"

from importlib import import_module
from typing import Any

from replication.belonging import ensure_together

_MODULES = {"Follower": "replication.fetcher.follower"}

__all__ = ["Follower"]


def __getattr__(name: str) -> Any:
    """Load the module that defines a public name (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


ensure_together(__name__, __distribution__)
